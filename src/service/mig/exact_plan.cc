#include "service/mig/exact_plan.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace partita::service::mig {
namespace {

using model::InstanceGoal;
using model::KeptInstance;
using model::LiveComputeInstance;
using model::LiveInstance;

// Compute instances in use are the first to stay.
KeptInstance Keep(const LiveInstance& live, const InstanceGoal& goal) {
  KeptInstance kept{live, {}, {}};
  model::ComputeSizes missing = goal.compute;
  std::vector<LiveComputeInstance> compute = live.compute;
  std::stable_partition(compute.begin(), compute.end(),
                        [](const LiveComputeInstance& each) { return each.in_use; });
  for (const LiveComputeInstance& each : compute) {
    const auto match = std::find(missing.begin(), missing.end(), each.slices);
    if (match == missing.end())
      kept.destroy.push_back(each);
    else
      missing.erase(match);
  }
  std::sort(missing.begin(), missing.end(), std::greater<>());
  kept.create = std::move(missing);
  return kept;
}

std::vector<model::ComputeInstanceId> InUse(const std::vector<LiveComputeInstance>& compute) {
  std::vector<model::ComputeInstanceId> ids;
  for (const LiveComputeInstance& each : compute)
    if (each.in_use) ids.push_back(each.id);
  return ids;
}

void NoteObstacle(const LiveInstance& live,
                  const std::vector<LiveComputeInstance>& going,
                  bool whole,
                  model::LayoutPlan& plan) {
  const std::vector<model::ComputeInstanceId> used = InUse(going);
  if (used.empty() && !(whole && live.pinned)) return;
  plan.obstacles.push_back({live.place, live.id, used});
  plan.cost.in_use_destroyed += static_cast<std::uint32_t>(std::max<std::size_t>(used.size(), 1));
}

}  // namespace

std::variant<model::LayoutPlan, model::Refusal> PlanExact(const model::MigGeometry& geometry,
                                                          const std::vector<LiveInstance>& live,
                                                          const std::vector<InstanceGoal>& wanted) {
  model::LayoutPlan plan;
  for (const InstanceGoal& goal : wanted) {
    if (goal.place.profile >= geometry.profiles.size())
      return model::Refusal{"a profile that was there is no longer offered", "", {}};
    plan.result.push_back(goal.place);
  }
  std::sort(plan.result.begin(), plan.result.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  if (auto violation = model::CheckLayout(geometry, plan.result))
    return model::Refusal{std::move(violation->text), "", {}};

  const auto goal_at = [&](const model::PlacedInstance& place) {
    return std::find_if(wanted.begin(), wanted.end(),
                        [&](const InstanceGoal& goal) { return goal.place == place; });
  };
  std::vector<LiveInstance> present = live;
  std::sort(present.begin(), present.end(), [](const LiveInstance& a, const LiveInstance& b) {
    return a.place.start < b.place.start;
  });
  for (const LiveInstance& instance : present) {
    const auto goal = goal_at(instance.place);
    if (goal == wanted.end()) {
      NoteObstacle(instance, instance.compute, true, plan);
      if (!instance.MustStay()) ++plan.cost.idle_destroyed;
      plan.destroyed.push_back(instance);
      continue;
    }
    plan.kept.push_back(Keep(instance, *goal));
    const KeptInstance& kept = plan.kept.back();
    NoteObstacle(instance, kept.destroy, false, plan);
    plan.cost.compute_changed +=
        static_cast<std::uint32_t>(kept.destroy.size() + kept.create.size());
  }
  for (const InstanceGoal& goal : wanted) {
    const bool there = std::any_of(live.begin(), live.end(), [&](const LiveInstance& instance) {
      return instance.place == goal.place;
    });
    if (!there) plan.created.push_back(goal);
  }
  plan.cost.created = static_cast<std::uint32_t>(plan.created.size());
  return plan;
}

}  // namespace partita::service::mig
