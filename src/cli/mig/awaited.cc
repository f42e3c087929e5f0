#include "cli/mig/awaited.h"

#include <utility>
#include <variant>

#include "cli/mig/checkpoint.h"
#include "cli/mig/memory.h"
#include "cli/mig/plan.h"
#include "service/mig/node_plan.h"

namespace partita::cli {

namespace {

bool Waits(const model::Gpu& gpu) {
  return gpu.mig && gpu.mig->enabled != gpu.mig->pending_enabled;
}

bool HasMode(const model::Gpu& gpu, const service::mig::GpuTarget& target) {
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

AwaitedNode Await(const model::Inventory& now, const service::mig::NodeGoal& goal, Tried tried) {
  AwaitedNode node{now, {}};
  for (const service::mig::GpuTarget& target : goal) {
    const model::Gpu& present = now.gpus[target.gpu];
    const bool follows = tried == Tried::kModesFirst && HasMode(present, target);
    if (!Waits(present) && !follows) {
      if (service::mig::IsApplied(now, target)) node.goal.push_back(target);
      continue;
    }
    const service::mig::NodePlan plan = service::mig::PlanNode(now, {target});
    const service::mig::GpuOutcome& outcome = plan.gpus.front();
    const auto* steps = std::get_if<model::GpuPlan>(&outcome.plan);
    if (steps == nullptr) continue;
    model::Gpu& gpu = node.then.gpus[target.gpu];
    gpu = AfterPlan(gpu, outcome.geometry, *steps);
    NameComputes(gpu);
    node.goal.push_back(target);
  }
  return node;
}

void RememberAwaited(const model::Inventory& now,
                     const service::mig::NodeGoalFn& goal,
                     Tried tried) {
  base::Result<service::mig::NodeGoal> targets = goal(now);
  if (!targets.ok()) return;  // the report has the reason
  if (tried == Tried::kModesAlone) targets = service::mig::ModeOnly(now, *targets);
  const AwaitedNode node = Await(now, *targets, tried);
  RememberApplied(node.then, [&](const model::Inventory&) { return node.goal; });
}

}  // namespace partita::cli
