// When a fault is over. An answer alone proves nothing for an XID: the driver answers also for a
// GPU that computes wrongly.
#pragma once

#include <vector>

#include "service/health/signals.h"
#include "service/health/state.h"

namespace partita::service::health {

// Takes into the fault of this GPU what the look says: what was seen since, and whether it is over.
void Weigh(Fault& fault,
           const GpuFacts& gpu,
           const XidOptions& options,
           const std::vector<Signal>& signals,
           const NodeFacts& node);

// Nothing counts that looks have found so far.
void ProveAnew(Fault& fault);

}  // namespace partita::service::health
