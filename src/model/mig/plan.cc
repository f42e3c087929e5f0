#include "model/mig/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/unread.h"

namespace partita::model {
namespace {

std::size_t PositionOf(const MigGeometry& geometry, ProfileId id) {
  const auto found =
      std::find_if(geometry.profiles.begin(), geometry.profiles.end(),
                   [&](const GpuInstanceProfile& profile) { return profile.id == id; });
  // MigGeometry::From lists the profile of every instance.
  PARTITA_CHECK(found != geometry.profiles.end());
  return static_cast<std::size_t>(found - geometry.profiles.begin());
}

bool MayUse(const Process& process, GpuInstanceId instance, ComputeInstanceId compute) {
  if (process.gpu_instance && *process.gpu_instance != instance) return false;
  return !process.compute_instance || *process.compute_instance == compute;
}

bool MayUse(const HiddenHolder& holder, GpuInstanceId instance) {
  return !holder.gpu_instance || *holder.gpu_instance == instance;
}

bool IsInUse(const Gpu& gpu, GpuInstanceId instance, ComputeInstanceId compute) {
  return WhyHoldersUnknown(gpu) ||
         std::any_of(gpu.processes.begin(), gpu.processes.end(),
                     [&](const Process& p) { return MayUse(p, instance, compute); }) ||
         std::any_of(gpu.hidden_holders.begin(), gpu.hidden_holders.end(),
                     [&](const HiddenHolder& holder) { return MayUse(holder, instance); });
}

// Processes in what would have to go.
std::vector<Process> HoldersOf(const Gpu& gpu, const std::vector<Obstacle>& obstacles) {
  std::vector<Process> holders;
  const auto holds = [](const Process& process, const Obstacle& obstacle) {
    return std::any_of(
        obstacle.compute.begin(), obstacle.compute.end(),
        [&](ComputeInstanceId compute) { return MayUse(process, obstacle.instance, compute); });
  };
  for (const Process& process : gpu.processes) {
    if (std::any_of(obstacles.begin(), obstacles.end(),
                    [&](const Obstacle& obstacle) { return holds(process, obstacle); }))
      holders.push_back(process);
  }
  return holders;
}

// " (4)", " (4-5)": the compute slices, where they are decided.
std::string SlicesText(const PlanStep& step) {
  if (!step.compute_start) return "";
  if (step.compute_slices == 1) return fmt::format(" ({})", *step.compute_start);
  return fmt::format(" ({}-{})", *step.compute_start,
                     *step.compute_start + step.compute_slices - 1);
}

}  // namespace

bool GpuPlan::ChangesNothing() const {
  return mode == ModeChange::kNone && !request && layout.ChangesNothing();
}

bool ModeNeedsReset(const Gpu& gpu) {
  return gpu.architecture != Architecture::kUnknown && gpu.architecture < Architecture::kHopper;
}

std::vector<LiveInstance> LiveInstances(const Gpu& gpu,
                                        const MigGeometry& geometry,
                                        const PinnedParts& pinned) {
  std::vector<LiveInstance> live;
  if (!gpu.mig) return live;
  for (const GpuInstance& instance : gpu.mig->instances) {
    LiveInstance entry;
    entry.id = instance.id;
    entry.place = {PositionOf(geometry, instance.profile), instance.placement.start};
    entry.pinned = gpu.uuid && pinned.instances.contains(
                                   {*gpu.uuid, instance.profile, instance.placement.start});
    for (const ComputeInstance& compute : instance.compute_instances) {
      entry.compute.push_back({compute.id, compute.slice_count,
                               entry.pinned || IsInUse(gpu, instance.id, compute.id),
                               compute.placement.start});
    }
    entry.offered = instance.offered;
    live.push_back(std::move(entry));
  }
  return live;
}

DeviceCounts PresentDevices(const Gpu& gpu, const MigGeometry& geometry) {
  DeviceCounts devices;
  for (const LiveInstance& instance : LiveInstances(gpu, geometry))
    for (const LiveComputeInstance& compute : instance.compute)
      AddDevices(devices, {instance.place.profile, compute.slices}, 1);
  return devices;
}

std::variant<GpuPlan, Refusal> PlanGpu(const Gpu& gpu,
                                       const MigPlanner& planner,
                                       const GpuGoal& goal,
                                       const PinnedParts& pinned) {
  GpuPlan plan;
  if (!gpu.mig) {
    if (!goal.mig_enabled) return plan;
    return Refusal{fmt::format("{} cannot do MIG", gpu.name), "leave it out of the selection", {}};
  }
  plan.enable = goal.mig_enabled;
  if (gpu.mig->enabled != goal.mig_enabled) {
    plan.mode = goal.mig_enabled ? ModeChange::kEnable : ModeChange::kDisable;
    plan.reset = ModeNeedsReset(gpu);
  }
  // A mode that is pending waits for the reset alone; where none is needed it is asked for again.
  plan.request = gpu.mig->pending_enabled != goal.mig_enabled ||
                 (plan.mode != ModeChange::kNone && !plan.reset);

  auto layout = planner.Plan(LiveInstances(gpu, planner.geometry(), pinned), goal.devices);
  if (auto* impossible = std::get_if<NoLayout>(&layout))
    return Refusal{std::move(impossible->text), "", std::move(impossible->nearest)};
  plan.layout = std::move(std::get<LayoutPlan>(layout));
  NameBlockers(gpu, pinned, plan);
  return plan;
}

void NameBlockers(const Gpu& gpu, const PinnedParts& pinned, GpuPlan& plan) {
  const std::vector<Obstacle>& obstacles = plan.layout.obstacles;
  plan.hidden_blockers = gpu.hidden_holders;
  if (plan.mode == ModeChange::kNone) {
    plan.blockers = HoldersOf(gpu, obstacles);
    std::erase_if(plan.hidden_blockers, [&](const HiddenHolder& holder) {
      return std::none_of(obstacles.begin(), obstacles.end(), [&](const Obstacle& obstacle) {
        return MayUse(holder, obstacle.instance);
      });
    });
  } else {
    // A mode change takes the whole GPU: everything that runs on it is in the way.
    plan.blockers = gpu.processes;
  }
  plan.given.clear();
  for (const Obstacle& obstacle : obstacles) {
    for (const GpuInstance& instance : gpu.mig->instances) {
      if (instance.id != obstacle.instance || !gpu.uuid) continue;
      const auto given =
          pinned.instances.find({*gpu.uuid, instance.profile, instance.placement.start});
      if (given != pinned.instances.end()) plan.given.push_back({obstacle.place, given->second});
    }
  }
  plan.given_whole.clear();
  for (const PinnedGpu& whole : pinned.gpus)
    if (gpu.uuid == whole.gpu && !plan.ChangesNothing()) plan.given_whole.push_back(whole.to);
  plan.blockers_unknown.reset();
  if (plan.mode != ModeChange::kNone || !obstacles.empty())
    plan.blockers_unknown = WhyHoldersUnknown(gpu);
}

const MigPlanner& MigPlanners::For(const Mig& mig) {
  MigGeometry geometry = MigGeometry::From(mig);
  for (const std::unique_ptr<MigPlanner>& planner : planners_)
    if (planner->geometry() == geometry) return *planner;
  return *planners_.emplace_back(std::make_unique<MigPlanner>(std::move(geometry)));
}

std::vector<PlanStep> Steps(const GpuPlan& plan) {
  std::vector<PlanStep> steps;
  const auto destroy_compute = [&](const LiveInstance& instance,
                                   const LiveComputeInstance& compute) {
    steps.push_back({StepKind::kDestroyCompute, instance.place, instance.id, compute.id,
                     compute.slices, false});
  };
  for (const LiveInstance& instance : plan.layout.destroyed)
    for (const LiveComputeInstance& compute : instance.compute) destroy_compute(instance, compute);
  for (const KeptInstance& kept : plan.layout.kept)
    for (const LiveComputeInstance& compute : kept.destroy) destroy_compute(kept.live, compute);
  for (const LiveInstance& instance : plan.layout.destroyed)
    steps.push_back({StepKind::kDestroyInstance, instance.place, instance.id, {}, 0, false});

  if (plan.request) steps.push_back({StepKind::kSetMode, {}, {}, {}, 0, plan.enable});
  if (plan.reset) steps.push_back({StepKind::kReset, {}, {}, {}, 0, false});

  for (const KeptInstance& kept : plan.layout.kept) {
    for (std::size_t i = 0; i < kept.create.size(); ++i) {
      steps.push_back(
          {StepKind::kCreateCompute, kept.live.place, kept.live.id, {}, kept.create[i], false});
      if (!kept.starts.empty()) steps.back().compute_start = kept.starts[i];
    }
  }
  for (const InstanceGoal& goal : plan.layout.created) {
    steps.push_back({StepKind::kCreateInstance, goal.place, {}, {}, 0, false});
    for (std::uint32_t slices : goal.compute)
      steps.push_back({StepKind::kCreateCompute, goal.place, {}, {}, slices, false});
  }
  return steps;
}

std::string ToString(const MigGeometry& geometry, const PlanStep& step) {
  const auto where = [&] {
    return fmt::format("{} at slice {}", geometry.profiles[step.place.profile].name,
                       step.place.start);
  };
  switch (step.kind) {
    case StepKind::kDestroyCompute:
      return fmt::format("destroy compute instance {} of {}", step.compute->value(), where());
    case StepKind::kDestroyInstance: return fmt::format("destroy GPU instance {}", where());
    case StepKind::kSetMode: return step.enable ? "enable MIG mode" : "disable MIG mode";
    case StepKind::kReset: return "reset the GPU";
    case StepKind::kCreateInstance: return fmt::format("create GPU instance {}", where());
    case StepKind::kCreateCompute:
      return fmt::format("create a compute instance of {} slice{}{} in {}", step.compute_slices,
                         step.compute_slices == 1 ? "" : "s", SlicesText(step), where());
  }
  return "";
}

}  // namespace partita::model
