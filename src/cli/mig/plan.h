#pragma once

#include "model/inventory.h"
#include "service/inventory/reader.h"
#include "service/mig/node_plan.h"

namespace partita::cli {

// Says on standard error why a plan cannot be carried out; nothing when it can.
void ReportReasons(const model::Inventory& node, const service::mig::NodePlan& plan);
// Says on standard error what will make a reset fail although nobody is in the way.
void WarnAboutReset(const service::inventory::ReaderOptions& options,
                    const service::mig::NodePlan& plan);
// That of invalid input when some GPU can never be so, that of a holder when one is in the way.
[[nodiscard]] int PlanStatus(const service::mig::NodePlan& plan);

}  // namespace partita::cli
