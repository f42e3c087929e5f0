// What a verb decides: the changes to make and what its caller must know. Deciding changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/ledger/state.h"

namespace partita::service::ledger {

// A device that a plan must leave alone, because somebody was given it first.
struct Cancelled {
  std::string plan;
  Device device;
  bool operator==(const Cancelled&) const = default;
};

struct Receipt {
  std::vector<Hold> replaced;        // holders that kubelet must have freed
  std::vector<Cancelled> cancelled;  // tell those plans
  std::vector<Device> locked;        // what is left for a plan to work on
  std::vector<Board> published;      // GPUs that have a new way of being allocated
  std::uint64_t attempt = 0;         // of the claim; to be named when it is completed
  std::optional<ClaimStep> step;     // that the claim is at now
  // It was done, but is not on disk yet and may be forgotten.
  std::optional<base::Error> warning;
};

struct Decision {
  std::vector<Change> changes;
  bool durable = false;  // must be on disk before anybody acts on it
  Receipt receipt;
};

// "GPU-a cannot be given to claim x: pod default/train (main) holds GPU-a (one of them needs the
// whole GPU)"; kBusy.
[[nodiscard]] base::Error Refuse(const Device& device,
                                 const Owner& who,
                                 const Holder& holder,
                                 Clash clash);

// Takes what `device` overlaps out of the plans that have not begun: whoever is given a device
// first has it.
void CancelPlans(const State& state, const Device& device, Decision& decision);

}  // namespace partita::service::ledger
