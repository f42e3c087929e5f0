#include "model/mig/after_plan.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "model/mig/wanted.h"

namespace partita::model {
namespace {

void AddComputes(const MigGeometry& geometry,
                 std::size_t profile,
                 const ComputeSizes& sizes,
                 const std::vector<std::uint32_t>& starts,
                 GpuInstance& instance) {
  std::uint32_t next = 0;
  for (const ComputeInstance& compute : instance.compute_instances) {
    next = std::max(next, compute.placement.start + compute.placement.size);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::uint32_t slices = sizes[i];
    ComputeInstance compute;
    std::uint32_t id = 0;
    const auto taken = [&](const ComputeInstance& other) { return other.id.value() == id; };
    while (
        std::any_of(instance.compute_instances.begin(), instance.compute_instances.end(), taken)) {
      ++id;
    }
    compute.id = ComputeInstanceId(id);
    compute.slice_count = slices;
    compute.placement = {starts.empty() ? next : starts[i], slices};
    compute.name = DeviceName(geometry, {profile, slices});
    next += slices;
    instance.compute_instances.push_back(std::move(compute));
  }
}

GpuInstance NewInstance(const MigGeometry& geometry, const InstanceGoal& goal, std::uint32_t id) {
  const GpuInstanceProfile& profile = geometry.profiles[goal.place.profile];
  GpuInstance instance;
  instance.id = GpuInstanceId(id);
  instance.profile = profile.id;
  instance.profile_name = profile.name;
  instance.placement = *FindPlacement(geometry, goal.place);
  AddComputes(geometry, goal.place.profile, goal.compute, {}, instance);
  return instance;
}

bool Destroyed(const GpuPlan& plan, GpuInstanceId id) {
  return std::any_of(plan.layout.destroyed.begin(), plan.layout.destroyed.end(),
                     [&](const LiveInstance& live) { return live.id == id; });
}

}  // namespace

Gpu AfterPlan(const Gpu& gpu, const MigGeometry& geometry, const GpuPlan& plan) {
  Gpu after = gpu;
  if (!after.mig) return after;
  after.mig->enabled = after.mig->pending_enabled = plan.enable;
  std::erase_if(after.mig->instances,
                [&](const GpuInstance& instance) { return Destroyed(plan, instance.id); });
  for (const KeptInstance& kept : plan.layout.kept) {
    for (GpuInstance& instance : after.mig->instances) {
      if (instance.id != kept.live.id) continue;
      std::erase_if(instance.compute_instances, [&](const ComputeInstance& compute) {
        return std::any_of(kept.destroy.begin(), kept.destroy.end(),
                           [&](const auto& gone) { return gone.id == compute.id; });
      });
      AddComputes(geometry, kept.live.place.profile, kept.create, kept.starts, instance);
    }
  }
  std::uint32_t id = kNewInstance;
  for (const InstanceGoal& goal : plan.layout.created) {
    after.mig->instances.push_back(NewInstance(geometry, goal, id++));
  }
  std::sort(after.mig->instances.begin(), after.mig->instances.end(),
            [](const auto& a, const auto& b) { return a.placement < b.placement; });
  return after;
}

}  // namespace partita::model
