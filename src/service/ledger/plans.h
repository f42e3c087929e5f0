// What operations (MIG changes, resets, driver switches) do with the devices that they work on:
// withdraw them, wait, lock them, give them back.
#pragma once

#include <string>
#include <vector>

#include "service/ledger/decision.h"

namespace partita::service::ledger {

// Offers these devices to nobody new. Holders keep what they have, and until Lock whoever is given
// a device takes it out of the plan. Refused (kBusy) where another plan works on some of it.
[[nodiscard]] base::Result<Decision> Withdraw(const State& state,
                                              const std::string& plan,
                                              const std::vector<Device>& scope,
                                              Time now);

// To be on disk before the plan's first driver call. receipt.locked is what it may work on: what it
// withdrew, less what others were given meanwhile. Refused (kBusy) while anybody holds some of
// that, foreign instances included, and (kConflict) when nothing is left.
[[nodiscard]] base::Result<Decision> Lock(const State& state, const std::string& plan);

// The operation is over, whatever became of it. What it worked on counts as made anew.
[[nodiscard]] Decision EndPlan(const State& state, const std::string& plan);

// Forgets tombstones and ended plans that are too old to matter.
[[nodiscard]] Decision Sweep(const State& state, Time now);

}  // namespace partita::service::ledger
