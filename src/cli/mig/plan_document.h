#pragma once

#include "base/value.h"
#include "model/inventory.h"
#include "service/mig/node_plan.h"

namespace partita::cli {

// partita.dev/mig/v1, kind MigPlan.
[[nodiscard]] base::Value MigPlanDocument(const model::Inventory& node,
                                          const service::mig::NodePlan& plan);

}  // namespace partita::cli
