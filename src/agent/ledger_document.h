// The ledger as a document for people and programs: who holds what.
#pragma once

#include "base/value.h"
#include "service/ledger/state.h"

namespace partita::agent {

// {"holds": 2, "claims": 0, "plans": 1, "foreign": 0}; tombstones and plans that ended are not
// counted.
[[nodiscard]] base::Value LedgerCounts(const service::ledger::State& state);

// {"devices": […], "claims": […], "plans": […], "foreign": […], "offers": […]}; ages in seconds.
[[nodiscard]] base::Value LedgerDocument(const service::ledger::State& state,
                                         service::ledger::Time now);

}  // namespace partita::agent
