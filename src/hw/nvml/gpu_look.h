// One GPU, read in parts: what cannot change while a session lasts is not asked again at each look.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "hw/nvml/call_watch.h"
#include "hw/nvml/session.h"
#include "model/inventory.h"

namespace partita::hw::nvml {

enum class Part : std::uint8_t {
  kIdentity,   // index, minor, UUID, name, board, total memory, MIG profiles: once per session
  kModes,      // what somebody sets, and what the driver asks for
  kInstances,  // MIG instances and how many more fit
  kReadings,   // load, temperature, power, clocks, the PCIe link, errors of memory
  kHolders,    // processes, memory in use
};
inline constexpr Part kParts[] = {Part::kIdentity, Part::kModes, Part::kInstances, Part::kReadings,
                                  Part::kHolders};

struct Parts {
  std::uint8_t bits = 0;
  constexpr Parts() = default;
  constexpr Parts(std::initializer_list<Part> parts) {
    for (const Part part : parts) bits = static_cast<std::uint8_t>(bits | Bit(part));
  }
  static constexpr Parts All() {
    return {Part::kIdentity, Part::kModes, Part::kInstances, Part::kReadings, Part::kHolders};
  }
  [[nodiscard]] constexpr bool Has(Part part) const { return (bits & Bit(part)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits == 0; }
  constexpr Parts& operator|=(Parts other) {
    bits = static_cast<std::uint8_t>(bits | other.bits);
    return *this;
  }
  bool operator==(const Parts&) const = default;

 private:
  static constexpr std::uint8_t Bit(Part part) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(part));
  }
};

// What to do with fields that are not there: a call may have failed.
enum class Gaps : std::uint8_t { kTaken, kKept };

// Copies the fields of one part, and no others. With kKept, a field of identity or shape that
// `from` lacks stays as it was.
void Take(Part part, const model::Gpu& from, model::Gpu& into, Gaps gaps = Gaps::kTaken);

struct GpuQuestion {
  model::PciAddress pci;
  Parts parts;
  // Of an earlier answer in the same session; another session's is as good as none.
  std::optional<DeviceHandle> handle;
  // What was read before: instances need the profiles, which belong to the identity.
  model::Gpu known;
};

// What was found out of one part. Parts that follow a fatal answer are not there.
struct PartAnswer {
  Part part = Part::kIdentity;
  model::Gpu gpu;  // only this part's fields mean something
  std::vector<model::Fault> faults;
  std::vector<base::Error> problems;
};

struct GpuAnswer {
  std::optional<DeviceHandle> handle;
  std::vector<PartAnswer> parts;
  // Why there is nothing or not everything: lost, missing, unreadable.
  std::optional<model::Fault> fault;
  bool session_lost = false;  // ask again in a new session
};

// On the driver thread. `so_far` is told after each part, so that a call that never comes back
// costs only what follows it. A mode that differs from what was known has the instances read as
// well: they cannot be what they were.
void LookAt(const Session& session,
            const GpuQuestion& question,
            CallWatch& watch,
            const std::function<void(const GpuAnswer&)>& so_far);

}  // namespace partita::hw::nvml
