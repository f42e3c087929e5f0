#include "service/mig/awaited.h"

#include <utility>
#include <variant>

#include "model/mig/after_plan.h"
#include "service/mig/applied.h"
#include "service/mig/checkpoint.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {

namespace {

bool Waits(const model::Gpu& gpu) {
  return gpu.mig && gpu.mig->enabled != gpu.mig->pending_enabled;
}

bool HasMode(const model::Gpu& gpu, const GpuTarget& target) {
  return gpu.mig && gpu.mig->enabled == target.goal.mig_enabled;
}

// The driver names the profile of a compute instance once it exists.
void NameComputes(model::Gpu& gpu) {
  for (model::GpuInstance& instance : gpu.mig->instances) {
    for (model::ComputeInstance& compute : instance.compute_instances) {
      compute.profile = ComputeConstant(compute.slice_count);
    }
  }
}

}  // namespace

AwaitedNode Await(const model::Inventory& now, const NodeGoal& goal, Tried tried) {
  AwaitedNode node{now, {}};
  for (const GpuTarget& target : goal) {
    const model::Gpu* present = model::FindGpu(now, target.gpu);
    if (present == nullptr) continue;
    const bool follows = tried == Tried::kModesFirst && HasMode(*present, target);
    if (!Waits(*present) && !follows) {
      if (IsApplied(now, target)) node.goal.push_back(target);
      continue;
    }
    const NodePlan plan = PlanNode(now, {target});
    const GpuOutcome& outcome = plan.gpus.front();
    const auto* steps = std::get_if<model::GpuPlan>(&outcome.plan);
    if (steps == nullptr) continue;
    model::Gpu& gpu = *model::FindGpu(node.then, target.gpu);
    gpu = AfterPlan(gpu, outcome.geometry, *steps);
    NameComputes(gpu);
    node.goal.push_back(target);
  }
  return node;
}

base::Result<void> RememberAwaited(const model::Inventory& now,
                                   const NodeGoalFn& goal,
                                   Tried tried) {
  base::Result<NodeGoal> targets = goal(now);
  if (!targets.ok()) return {};  // the report has the reason
  if (tried == Tried::kModesAlone) targets = ModeOnly(now, *targets);
  const AwaitedNode node = Await(now, *targets, tried);
  return RememberApplied(node.then, [&](const model::Inventory&) { return node.goal; });
}

}  // namespace partita::service::mig
