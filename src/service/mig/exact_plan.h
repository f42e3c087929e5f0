// The plan to an exact layout, places and all: what a checkpoint or a rollback asks for.
#pragma once

#include <variant>
#include <vector>

#include "model/mig/plan.h"

namespace partita::service::mig {

// What matches stays, with its compute instances; what does not goes, and what is missing comes. A
// layout that breaks a rule is a refusal; something in use that would go is an obstacle.
[[nodiscard]] std::variant<model::LayoutPlan, model::Refusal> PlanExact(
    const model::MigGeometry& geometry,
    const std::vector<model::LiveInstance>& live,
    const std::vector<model::InstanceGoal>& wanted);

}  // namespace partita::service::mig
