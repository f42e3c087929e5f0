// What of the ledger's devices the steps of a MIG change work on.
#pragma once

#include <vector>

#include "model/inventory.h"
#include "service/ledger/devices.h"
#include "service/ledger/sightings.h"
#include "service/mig/checkpoint.h"
#include "service/mig/node_plan.h"

namespace partita::agent {

// A GPU whose mode changes or that is reset is worked on as a whole; of the others the GPU
// instances that come, go or get other compute instances. A GPU without a UUID is left out: nobody
// can hold any of it.
[[nodiscard]] std::vector<service::ledger::Device> ScopeOf(
    const model::Inventory& node, const std::vector<service::mig::GpuSteps>& steps);

// Of the instances that exist, those that somebody asked for: what `layout` says of the GPUs that
// it names, everything on the others, and what lies in `ours`. Absent where nothing was ever
// applied: people lay out such a node by hand.
[[nodiscard]] service::ledger::Asked AskedFor(const model::Inventory& node,
                                              const std::optional<service::mig::Checkpoint>& layout,
                                              const std::vector<service::ledger::Device>& ours);

}  // namespace partita::agent
