// All that the ledger knows, as one value, and the changes that make one state from another. A
// change is whole and absolute (an entry is put or erased), so that applying it twice does no harm.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "service/ledger/atoms.h"
#include "service/ledger/devices.h"
#include "service/ledger/owners.h"

namespace partita::service::ledger {

using Time = std::chrono::sys_time<std::chrono::milliseconds>;

// What was last seen of the machine, as far as holders depend on it.
struct SeenGpu {
  WholeGpu gpu;
  bool operator==(const SeenGpu&) const = default;
};
struct SeenCompute {
  model::Placement place;  // within its GPU instance
  model::ComputeInstanceId id;
  model::MigUuid uuid;
  Incarnation incarnation;
  bool operator==(const SeenCompute&) const = default;
};
struct SeenInstance {
  WholeGpu gpu;
  model::ProfileId profile;
  model::Placement memory;
  model::GpuInstanceId id;
  bool foreign = false;  // nobody asked us for it
  std::vector<SeenCompute> compute;
  bool operator==(const SeenInstance&) const = default;
};
struct SeenVfio {
  VfioDevice device;
  bool operator==(const SeenVfio&) const = default;
};

// Who may allocate a physical GPU with all its parts.
enum class Via : std::uint8_t { kDevicePlugin, kDra, kVm, kNone };
[[nodiscard]] std::string_view ToString(Via via);
struct Offer {
  Board board;
  Via via = Via::kDevicePlugin;
  std::optional<Via> next = std::nullopt;        // waits for the holders to go
  std::optional<Time> withdrawn = std::nullopt;  // when the last change of it began
  bool operator==(const Offer&) const = default;
};

// A pod's or a virtual machine's, through the device plugin.
struct Hold {
  Device device;
  Owner owner;
  bool seen = false;  // false: reserved
  Time since;
  // The device was destroyed under its holder: nothing is held, but the pod still believes it.
  bool gone = false;
  bool operator==(const Hold&) const = default;
};

enum class ClaimStep : std::uint8_t {
  kPrepareStarted,
  kPrepareCompleted,
  kUnprepareStarted,
  kTombstone,  // holds nothing; keeps a prepare that was overtaken from coming back
};
[[nodiscard]] std::string_view ToString(ClaimStep step);
struct Claim {
  ClaimName owner;
  std::vector<Use> uses;
  ClaimStep step = ClaimStep::kPrepareStarted;
  std::uint64_t attempt = 0;  // of preparing it; each has its own number
  Time since;                 // of the step
  bool operator==(const Claim&) const = default;
};

// An operation: first it withdraws what it will work on, then it locks that.
struct Plan {
  std::string id;
  std::vector<Device> scope;
  bool locked = false;
  bool ended = false;  // remembered only for what kubelet was told
  Time withdrawn;
  bool operator==(const Plan&) const = default;
};

struct Era {
  std::string boot;        // the kernel's boot id
  std::uint64_t next = 1;  // number for the next incarnation or attempt
  bool operator==(const Era&) const = default;
};

using Entry = std::variant<Era, SeenGpu, SeenInstance, SeenVfio, Offer, Hold, Claim, Plan>;

// "hold/GPU-…": the kind and the key of an entry.
[[nodiscard]] std::string NameOf(const Entry& entry);

struct Put {
  Entry entry;
  bool operator==(const Put&) const = default;
};
struct Erase {
  std::string name;
  bool operator==(const Erase&) const = default;
};
using Change = std::variant<Put, Erase>;

struct State {
  Era era;
  std::map<std::string, SeenGpu> gpus;            // by UUID
  std::map<std::string, SeenInstance> instances;  // by KeyOf the instance
  std::map<std::string, SeenVfio> vfio;           // by address
  std::map<std::string, Offer> offers;            // by board
  std::map<std::string, Hold> holds;              // by KeyOf the device
  std::map<std::string, Claim> claims;            // by uid
  std::map<std::string, Plan> plans;              // by id
  bool operator==(const State&) const = default;
};

// Erasing what is not there changes nothing.
void Apply(State& state, const Change& change);
[[nodiscard]] std::vector<Entry> AllEntries(const State& state);

// Somebody who has atoms now. What is gone, a tombstone or a plan that is not locked has none.
struct Holder {
  Use use;
  Owner owner;
  bool reserved = false;  // not seen at work yet
  bool operator==(const Holder&) const = default;
};
[[nodiscard]] std::vector<Holder> HoldersOf(const State& state);
// Those of them that can be in the way of the device: of hundreds, the few on its board.
[[nodiscard]] std::vector<Holder> HoldersNear(const State& state, const Device& device);
// Of these the holds alone, found without a look at those of other boards.
[[nodiscard]] std::vector<const Hold*> HoldsNear(const State& state, const Device& device);
[[nodiscard]] Holder HolderOf(const Hold& hold);
// And all others: claims, and operations that have begun.
[[nodiscard]] std::vector<Holder> OthersNear(const State& state, const Device& device);

// Of a device, whoever holds whatever part of it.
[[nodiscard]] DeviceState StateOf(const State& state, const Device& device);

// The plans that work on, or wait for, some of this device; not those that ended.
[[nodiscard]] std::vector<const Plan*> PlansOver(const State& state, const Device& device);

// The MIG device at this place as it was last seen; null when there is none.
[[nodiscard]] const SeenCompute* FindSeen(const State& state, const MigDevice& device);

}  // namespace partita::service::ledger
