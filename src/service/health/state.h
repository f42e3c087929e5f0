// What is wrong with the GPUs of this node, and since when: one value.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/health.h"
#include "model/ids.h"
#include "model/instance_key.h"
#include "model/inventory.h"
#include "service/health/xid_policy.h"

namespace partita::service::health {

// Of this boot: the machine's clock on the wall may be set, and ages must not.
using Time = base::Clock::Steady;

// So long without another, an error that proves nothing by itself is over.
inline constexpr std::chrono::minutes kQuietTime{10};

// A GPU, one of its GPU instances, or one MIG device.
struct Part {
  model::GpuUuid gpu;
  std::optional<model::GpuInstanceId> gpu_instance = std::nullopt;
  std::optional<model::ComputeInstanceId> compute_instance = std::nullopt;
  auto operator<=>(const Part&) const = default;
};
// Whether `inner` is `outer`, or lies in it.
[[nodiscard]] bool Encloses(const Part& outer, const Part& inner);

enum class Cause : std::uint8_t {
  kXid,
  kRecoveryAction,
  kLost,
  kHung,
  kMissing,
  kUnreadable,
  kResetRequired,
  kRemapPending,
  kRemapFailed,
  kMemoryErrors,
};
// "xid", "recovery-action", …: as health.json has it.
[[nodiscard]] std::string_view ToString(Cause cause);

// Which load of the driver answers. Another one begins with reset GPUs.
struct DriverLife {
  std::uint64_t module = 0;  // of the kernel's module: another number after each load; 0: not known
  std::uint64_t cut_off = 0;  // how often the driver went away under this program
  bool operator==(const DriverLife&) const = default;
};
[[nodiscard]] bool AnotherLife(const DriverLife& before, const DriverLife& now);

struct Fault {
  Part part;
  Cause cause = Cause::kXid;
  std::uint64_t xid = 0;  // of kXid
  Effect effect = Effect::kUnhealthy;
  Proof proof = Proof::kSignal;
  std::optional<std::chrono::seconds> clear_after;
  std::string text;  // what, and what to do
  Time at;           // first
  Time last;         // of an XID: the latest
  base::Clock::Wall since;
  std::uint64_t count = 1;
  bool by_rule = false;  // somebody named this XID, in the configuration or in a variable
  bool back = false;     // it was out, and has only been degraded since

  // What was seen since the last one.
  std::optional<model::InstanceKey> instance;        // who has the part's id
  DriverLife driver;                                 // that answered then
  bool asked = false;                                // the driver asked for a reset or a reboot
  bool gone = false;                                 // it was off the bus, or lost
  bool was_idle = false;                             // nothing ran there
  std::optional<std::vector<model::Pid>> processes;  // who ran there
  std::optional<std::uint64_t> errors;               // uncorrected since the GPU's last reset

  // Not kept over a restart: it is proven anew.
  std::optional<Time> proven;   // since when it is over: it is held back a little
  std::optional<Time> passing;  // since when looks find nothing
  std::optional<Time> passed;   // the last of them
  int passes = 0;               // how many in a row

  bool operator==(const Fault&) const = default;
};

// An XID that may matter together with others.
struct Heard {
  Part part;
  std::uint64_t xid = 0;
  Time at;
  bool operator==(const Heard&) const = default;
};

// Somebody came back; another fault soon after is a relapse.
struct Recovery {
  Part part;
  Time at;
  bool operator==(const Recovery&) const = default;
};

struct Health {
  std::vector<Fault> faults;         // one for each part, cause and XID
  std::vector<Heard> heard;          // of the last ten minutes
  std::vector<Recovery> recoveries;  // of the last day
  std::set<model::GpuUuid> unmonitored;
  bool operator==(const Health&) const = default;
};

// What one look says of a GPU.
struct GpuFacts {
  model::GpuUuid gpu;
  bool given_away = false;  // to a virtual machine: nobody can look at it, and it is not ill
  std::vector<model::Fault> faults;
  std::optional<std::uint32_t> recovery_action;  // absent: the driver does not know it
  std::optional<std::uint64_t> errors;           // uncorrected since its last reset
  bool remap_pending = false;
  struct Running {
    model::Pid pid;
    std::optional<model::GpuInstanceId> gpu_instance;
    std::optional<model::ComputeInstanceId> compute_instance;
  };
  std::optional<std::vector<Running>> running;  // absent: nobody knows all of them
  struct Instance {
    model::GpuInstanceId id;
    model::InstanceKey key;
    std::vector<model::ComputeInstanceId> compute_instances;
  };
  std::optional<std::vector<Instance>> instances;  // absent: nobody knows all of them
  // When it last answered in full, and when it was last asked for the rest.
  std::optional<Time> modes_at, readings_at, holders_at, instances_at;
  // When it last told anything, be it that it is lost.
  std::optional<Time> heard_at;
  bool off_the_bus = false;  // at this moment, by what the bus tells
};
struct NodeFacts {
  Time now;
  base::Clock::Wall wall;
  DriverLife driver;
  std::vector<GpuFacts> gpus;
};

// When the parts of each GPU were read last.
struct ReadTimes {
  std::optional<Time> modes, readings, holders, instances, heard;
};
// Nothing: nobody can say which GPU it is.
[[nodiscard]] std::optional<GpuFacts> FactsOf(const model::Gpu& gpu, const ReadTimes& times);

// Nobody is given the part, whatever was seen since.
[[nodiscard]] bool IsOut(const Fault& fault);
// How a fault stands.
[[nodiscard]] model::HealthState StateOf(const Fault& fault, Time now);
// The one word for it: "XidCritical", "GpuLost", …
[[nodiscard]] std::string_view ReasonOf(const Fault& fault);

// The worst of each part that is not healthy, in the order of the parts.
[[nodiscard]] model::NodeHealth Summary(const Health& health, Time now);
// The fault behind an entry of the summary; null: it is unmonitored, or well.
[[nodiscard]] const Fault* WorstFault(const Health& health, const Part& part, Time now);

}  // namespace partita::service::health
