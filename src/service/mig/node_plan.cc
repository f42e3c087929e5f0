#include "service/mig/node_plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/holder.h"
#include "model/unread.h"
#include "service/mig/exact_plan.h"

namespace partita::service::mig {
namespace {

using model::GpuPlan;
using model::Refusal;

// The mode is the planner's, which is given no devices to place; the layout is the exact one.
std::variant<GpuPlan, Refusal> PlanExactly(const model::Gpu& gpu,
                                           const model::MigPlanner& planner,
                                           const GpuTarget& target,
                                           const model::PinnedParts& pinned) {
  auto layout =
      PlanExact(planner.geometry(), LiveInstances(gpu, planner.geometry(), pinned), *target.exact);
  if (auto* refusal = std::get_if<Refusal>(&layout)) return std::move(*refusal);
  auto whole = model::PlanGpu(gpu, planner, {target.goal.mig_enabled, {}}, pinned);
  if (std::holds_alternative<Refusal>(whole)) return whole;
  auto& plan = std::get<GpuPlan>(whole);
  plan.layout = std::move(std::get<model::LayoutPlan>(layout));
  model::NameBlockers(gpu, pinned, plan);
  return plan;
}

Refusal Unknown(const base::Error& why) { return {why.ToString(), why.hint(), {}}; }

GpuOutcome PlanOne(const model::Inventory& inventory,
                   const GpuTarget& target,
                   const model::PinnedParts& pinned,
                   model::MigPlanners& planners) {
  const model::Gpu* found = model::FindGpu(inventory, target.gpu);
  if (found == nullptr) return {target.gpu, {}, Unknown(GoneError(target.gpu))};
  const model::Gpu& gpu = *found;
  if (const auto why = model::WhyMigUnknown(gpu)) return {target.gpu, {}, Unknown(*why)};
  if (!gpu.mig) {
    if (!target.goal.mig_enabled) return {target.gpu, {}, GpuPlan{}};
    return {
        target.gpu,
        {},
        Refusal{fmt::format("{} cannot do MIG", gpu.name), "leave it out of the selection", {}}};
  }
  const model::MigPlanner& planner = planners.For(*gpu.mig);
  GpuOutcome outcome{target.gpu, planner.geometry(),
                     target.exact ? PlanExactly(gpu, planner, target, pinned)
                                  : model::PlanGpu(gpu, planner, target.goal, pinned)};
  if (auto* plan = std::get_if<GpuPlan>(&outcome.plan))
    plan->instances_later = target.instances_later;
  return outcome;
}

template <typename Test>
bool AnyPlan(const std::vector<GpuOutcome>& gpus, Test test) {
  return std::any_of(gpus.begin(), gpus.end(), [&](const GpuOutcome& outcome) {
    const auto* plan = std::get_if<GpuPlan>(&outcome.plan);
    return plan != nullptr && test(*plan);
  });
}

std::vector<std::string> WhoUses(const model::Gpu& gpu, const model::Obstacle& obstacle) {
  std::vector<std::string> who;
  for (const model::Process& process : gpu.processes) {
    if (!process.gpu_instance || *process.gpu_instance == obstacle.instance)
      who.push_back(model::HolderText(process));
  }
  return who;
}

// Those that have no pid to be named by, with what to do.
std::vector<std::string> UnnamedBlockers(const std::string& name, const GpuPlan& plan) {
  std::vector<std::string> lines;
  if (plan.blockers_unknown) {
    lines.push_back(fmt::format("{}: {}", name, plan.blockers_unknown->ToString()));
    if (!plan.blockers_unknown->hint().empty())
      lines.push_back("  " + plan.blockers_unknown->hint());
  }
  for (const model::HiddenHolder& holder : plan.hidden_blockers)
    lines.push_back(fmt::format("{}: {}", name, model::HolderText(holder)));
  if (!plan.hidden_blockers.empty()) lines.push_back(fmt::format("  {}", model::kHiddenHolderHint));
  return lines;
}

std::vector<std::string> WaysToEnd(const GpuPlan& plan) {
  std::vector<std::string> lines;
  for (const model::Process& process : plan.blockers) {
    const std::string how = model::HowToEnd(process);
    if (!how.empty()) lines.push_back("  " + how);
  }
  return lines;
}

// To whom the GPU was given, with or without something running on it.
std::vector<std::string> WholeHolders(const std::string& name, const GpuPlan& plan) {
  const bool idle = plan.blockers.empty() && plan.hidden_blockers.empty() && !plan.blockers_unknown;
  std::vector<std::string> lines;
  for (const std::string& to : plan.given_whole)
    lines.push_back(
        fmt::format("{} is held by {}{}", name, to, idle ? ", though nothing runs on it" : ""));
  return lines;
}

std::string InstanceText(const model::Mig& mig, const model::GpuInstance& instance) {
  std::string text = fmt::format("{}@{}", instance.profile_name, instance.placement.start);
  if (instance.compute_instances.empty()) return text + " (no compute instance)";
  const bool whole = std::any_of(
      mig.profiles.begin(), mig.profiles.end(), [&](const model::GpuInstanceProfile& profile) {
        return profile.id == instance.profile &&
               profile.slice_count == instance.compute_instances.front().slice_count;
      });
  if (whole) return text;
  std::vector<std::string> parts;
  for (const model::ComputeInstance& compute : instance.compute_instances)
    parts.push_back(fmt::format("{}c", compute.slice_count));
  return fmt::format("{} ({})", text, fmt::join(parts, ", "));
}

}  // namespace

bool NodePlan::ChangesNothing() const {
  return !Refused() && !AnyPlan(gpus, [](const GpuPlan& plan) { return !plan.ChangesNothing(); });
}

bool NodePlan::Refused() const {
  return std::any_of(gpus.begin(), gpus.end(), [](const GpuOutcome& outcome) {
    return std::holds_alternative<Refusal>(outcome.plan);
  });
}

bool NodePlan::Blocked() const {
  return AnyPlan(gpus, [](const GpuPlan& plan) { return plan.Blocked(); });
}

bool NodePlan::NeedsReset() const {
  return AnyPlan(gpus, [](const GpuPlan& plan) { return plan.reset; });
}

NodePlan PlanNode(const model::Inventory& inventory,
                  const NodeGoal& goal,
                  const model::PinnedParts& pinned) {
  model::MigPlanners planners;
  NodePlan plan;
  for (const GpuTarget& target : goal)
    plan.gpus.push_back(PlanOne(inventory, target, pinned, planners));
  return plan;
}

std::vector<GpuSteps> AllSteps(const NodePlan& plan) {
  std::vector<GpuSteps> all;
  for (const GpuOutcome& outcome : plan.gpus) {
    const auto* gpu = std::get_if<GpuPlan>(&outcome.plan);
    if (gpu == nullptr || gpu->ChangesNothing()) continue;
    all.push_back({outcome.gpu, Steps(*gpu)});
  }
  return all;
}

NodePlan WithoutResets(NodePlan plan) {
  for (GpuOutcome& outcome : plan.gpus) {
    auto* gpu = std::get_if<GpuPlan>(&outcome.plan);
    if (gpu == nullptr || !gpu->reset || !gpu->layout.obstacles.empty()) continue;
    gpu->blockers.clear();
    gpu->hidden_blockers.clear();
    gpu->blockers_unknown.reset();
  }
  return plan;
}

bool IsApplied(const model::Inventory& inventory, const GpuTarget& target) {
  return IsApplied(inventory, NodeGoal{target});
}

bool IsApplied(const model::Inventory& inventory, const NodeGoal& goal) {
  return PlanNode(inventory, goal).ChangesNothing();
}

base::Error GoneError(const model::GpuIdentity& gpu) {
  return base::MakeError(base::ErrorCode::kNotFound, "{} is no longer on this machine",
                         gpu.uuid ? gpu.uuid->value() : gpu.pci.ToString())
      .WithHint("`partita mig show` lists its GPUs");
}

std::string NameOf(const model::Gpu& gpu) { return model::GpuIdentity::Of(gpu).Name(); }

std::vector<std::string> Reasons(const model::Inventory& inventory, const GpuOutcome& outcome) {
  const std::string name = outcome.gpu.Name();
  if (const auto* refusal = std::get_if<Refusal>(&outcome.plan)) {
    std::vector<std::string> lines = {fmt::format("{}: {}", name, refusal->text)};
    if (!refusal->hint.empty()) lines.push_back("  " + refusal->hint);
    for (const model::ProfileCounts& counts : refusal->nearest)
      lines.push_back(fmt::format("  possible: {}", ToString(outcome.geometry, counts)));
    return lines;
  }
  const auto& plan = std::get<GpuPlan>(outcome.plan);
  std::vector<std::string> lines = WholeHolders(name, plan);
  for (std::string& line : UnnamedBlockers(name, plan)) lines.push_back(std::move(line));
  if (plan.blockers_unknown) return lines;
  if (plan.mode != model::ModeChange::kNone) {
    for (const model::Process& process : plan.blockers)
      lines.push_back(fmt::format("{}: its MIG mode cannot change while {} uses it", name,
                                  model::HolderText(process)));
    for (std::string& line : WaysToEnd(plan)) lines.push_back(std::move(line));
    if (!lines.empty()) return lines;
  }
  const model::Gpu* gpu = model::FindGpu(inventory, outcome.gpu);
  for (const model::Obstacle& obstacle : plan.layout.obstacles) {
    const std::vector<std::string> who =
        gpu != nullptr ? WhoUses(*gpu, obstacle) : std::vector<std::string>();
    std::string is = fmt::format("in use{}{}", who.empty() ? "" : " by ", fmt::join(who, ", "));
    // In use by nobody that is seen or guessed: somebody was given it and has not begun.
    const auto given = std::find_if(
        plan.given.begin(), plan.given.end(),
        [&](const model::GivenInstance& each) { return each.place == obstacle.place; });
    if (given != plan.given.end() && who.empty() && plan.hidden_blockers.empty())
      is = fmt::format("held by {}, though nothing runs in it", given->to);
    lines.push_back(fmt::format("{}: {} at slice {} is {}", name,
                                outcome.geometry.profiles[obstacle.place.profile].name,
                                obstacle.place.start, is));
  }
  for (std::string& line : WaysToEnd(plan)) lines.push_back(std::move(line));
  return lines;
}

base::Result<void> CheckRead(const model::Gpu& gpu) {
  if (auto why = model::WhyMigUnknown(gpu)) return std::move(*why).Within(NameOf(gpu));
  return {};
}

base::Result<void> CheckRead(const model::Inventory& inventory) {
  for (const model::Gpu& gpu : inventory.gpus) TRY_VOID(CheckRead(gpu));
  return {};
}

std::string Describe(const model::Gpu& gpu) {
  if (const auto why = model::WhyMigUnknown(gpu)) return "unknown: " + why->ToString();
  if (!gpu.mig) return "no MIG";
  std::string text = gpu.mig->enabled ? "MIG on" : "MIG off";
  if (gpu.mig->pending_enabled != gpu.mig->enabled)
    text += gpu.mig->pending_enabled ? " (on after a reset)" : " (off after a reset)";
  if (!gpu.mig->enabled) return text;
  std::vector<const model::GpuInstance*> instances;
  for (const model::GpuInstance& instance : gpu.mig->instances) instances.push_back(&instance);
  std::sort(instances.begin(), instances.end(),
            [](const auto* a, const auto* b) { return a->placement.start < b->placement.start; });
  std::vector<std::string> texts;
  texts.reserve(instances.size());
  for (const model::GpuInstance* instance : instances)
    texts.push_back(InstanceText(*gpu.mig, *instance));
  return fmt::format("{}: {}", text,
                     texts.empty() ? "empty" : fmt::format("{}", fmt::join(texts, ", ")));
}

}  // namespace partita::service::mig
