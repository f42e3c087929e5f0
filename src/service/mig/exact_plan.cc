#include "service/mig/exact_plan.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/mig/division.h"

namespace partita::service::mig {
namespace {

using model::InstanceGoal;
using model::KeptInstance;
using model::LiveComputeInstance;
using model::LiveInstance;

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
      return model::Refusal{"a profile that was there is no longer offered",
                            "the driver changed meanwhile: `partita mig profiles` lists what it "
                            "offers now",
                            {}};
    plan.result.push_back(goal.place);
  }
  std::sort(plan.result.begin(), plan.result.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  if (auto violation = model::CheckLayout(geometry, plan.result))
    return model::Refusal{
        std::move(violation->text), "these instances cannot be together: take one of them out", {}};

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
    model::ComputeSizes sizes = goal->compute;
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    std::optional<KeptInstance> divided = model::KeepCompute(instance, sizes);
    if (!divided)
      return model::Refusal{fmt::format("{} cannot be divided into compute instances of {} slices",
                                        ToString(geometry, instance.place), fmt::join(sizes, ", ")),
                            "",
                            {}};
    plan.kept.push_back(*std::move(divided));
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
