#pragma once

#include "cli/draw/drawing.h"
#include "model/inventory.h"
#include "service/mig/node_plan.h"

namespace partita::cli {

// Each GPU now and then, to scale, with the steps between, who is in the way and what would work
// instead; GPUs for which all of this is the same are drawn once.
[[nodiscard]] Lines DrawMigPlan(const model::Inventory& node,
                                const service::mig::NodePlan& plan,
                                const Look& look);

}  // namespace partita::cli
