// What a ledger that was read from disk means on the machine as it is now: after a crash of this
// program, or after a reboot.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/inventory.h"
#include "service/ledger/sightings.h"
#include "service/ledger/state.h"

namespace partita::service::ledger {

enum class FindingKind : std::uint8_t {
  kFinish,       // a claim whose release had begun: undo the rest, then FinishRelease
  kRollBack,     // a claim that cannot be used: undo what was done for it, then FinishRelease
  kInterrupted,  // an operation that had begun: plan again from what is there, then EndPlan
  kDrop,         // void, and forgotten
  kForeign,      // a GPU instance that nobody asked for: kept, reported, not offered
  kGone,         // a pod's device that is not there any more
};
[[nodiscard]] std::string_view ToString(FindingKind kind);

struct Finding {
  FindingKind kind;
  std::string name;  // the claim's uid, the plan's id, the key of a device or instance
  std::string text;  // for people
  bool operator==(const Finding&) const = default;
};

struct Verdict {
  std::vector<Finding> findings;
  std::vector<Change> changes;  // what makes the ledger agree with the machine
};

// `boot` is the kernel's boot id. After a reboot claims and operations are void; what pods hold
// stays, because kubelet starts them again without asking.
[[nodiscard]] Verdict Verify(const State& state,
                             const model::Inventory& inventory,
                             const std::string& boot,
                             const Asked& asked);

}  // namespace partita::service::ledger
