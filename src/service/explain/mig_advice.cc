#include "service/explain/mig_advice.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "model/holder.h"
#include "model/mig/plan.h"
#include "model/mig/wanted.h"

namespace partita::service::explain {
namespace {

using device_plugin::ReportedDevice;
using device_plugin::ReportedResource;
using device_plugin::Standing;
using model::Gpu;
using model::MigGeometry;

// Who holds what, by the id of the whole device.
std::map<std::string, std::string> HoldersById(const NodeView& node) {
  std::map<std::string, std::string> holders;
  for (const ReportedResource& resource : node.plugin.resources)
    for (const ReportedDevice& device : resource.devices)
      if (device.standing == Standing::kHeld) holders.emplace(device.whole_id, device.why);
  return holders;
}

model::PinnedParts PinnedOf(const Gpu& gpu, const std::map<std::string, std::string>& holders) {
  model::PinnedParts pinned;
  for (const model::GpuInstance& instance : gpu.mig->instances)
    for (const model::ComputeInstance& compute : instance.compute_instances)
      if (const auto holder = holders.find(compute.uuid.value()); holder != holders.end())
        pinned.instances.emplace(
            model::InstanceKey{*gpu.uuid, instance.profile, instance.placement.start},
            holder->second);
  return pinned;
}

// "1g.5gb:2,3g.20gb", as --want takes it.
std::string WantText(const MigGeometry& geometry, const model::DeviceCounts& devices) {
  std::vector<std::string> parts;
  for (const auto& [device, count] : devices) {
    const std::string name = model::DeviceName(geometry, device);
    parts.push_back(count == 1 ? name : fmt::format("{}:{}", name, count));
  }
  return base::Join(parts, ",");
}

// The command for this GPU; nothing where it cannot make so many, or only at somebody's cost.
std::optional<std::string> CommandFor(const Gpu& gpu,
                                      const std::map<std::string, std::string>& holders,
                                      const model::ProfileName& profile,
                                      std::uint32_t count,
                                      model::MigPlanners& planners) {
  const MigGeometry geometry = MigGeometry::From(*gpu.mig);
  const auto device = model::ResolveProfile(geometry, profile.ToString());
  if (!device.ok()) return std::nullopt;
  model::GpuGoal goal{true, {}};
  if (gpu.mig->enabled)
    goal.devices = model::PresentDevices(gpu, geometry);
  else if (holders.contains(gpu.uuid->value()))
    return std::nullopt;
  model::AddDevices(goal.devices, *device, count);
  const auto planned = model::PlanGpu(gpu, planners.For(*gpu.mig), goal, PinnedOf(gpu, holders));
  const auto* plan = std::get_if<model::GpuPlan>(&planned);
  if (plan == nullptr || plan->Blocked()) return std::nullopt;
  return fmt::format("partita mig apply --gpu {} --want {}", *gpu.index,
                     WantText(geometry, goal.devices));
}

// Who is in the way of a plan, and in what: "1g.5gb by pod default/train (main)".
std::string InTheWay(const MigGeometry& geometry, const model::GpuPlan& plan) {
  std::vector<std::string> parts;
  for (const model::GivenInstance& given : plan.given)
    parts.push_back(fmt::format("{} by {}", geometry.profiles[given.place.profile].name, given.to));
  for (const model::Process& process : plan.blockers)
    parts.push_back("by " + model::HolderText(process));
  for (const model::HiddenHolder& holder : plan.hidden_blockers)
    parts.push_back(model::HolderText(holder));
  if (plan.blockers_unknown) parts.push_back(plan.blockers_unknown->ToString());
  return base::Join(parts, ", ");
}

// What the GPUs that can do MIG make instead, a product each.
std::string WhatTheyMake(const NodeView& node) {
  std::map<std::string, std::string> products;
  for (const Gpu& gpu : node.inventory.gpus) {
    if (!gpu.mig) continue;
    const std::vector<std::string> names = model::ProfileNames(MigGeometry::Of(gpu.mig->profiles));
    products.emplace(gpu.name, base::Join(names, ", "));
  }
  std::vector<std::string> lines;
  lines.reserve(products.size());
  for (const auto& [name, profiles] : products)
    lines.push_back(fmt::format("{} makes {}", name, profiles));
  return base::Join(lines, "; ");
}

}  // namespace

bool HasDevice(const NodeView& node, const model::ProfileName& profile) {
  for (const Gpu& gpu : node.inventory.gpus) {
    if (!gpu.mig || !gpu.mig->enabled) continue;
    for (const model::GpuInstance& instance : gpu.mig->instances)
      for (const model::ComputeInstance& compute : instance.compute_instances)
        if (const auto name = model::ProfileName::Parse(compute.name);
            name.ok() && *name == profile)
          return true;
  }
  return false;
}

std::string HowToMake(const NodeView& node,
                      const model::ProfileName& profile,
                      std::uint64_t count) {
  const std::map<std::string, std::string> holders = HoldersById(node);
  std::vector<const Gpu*> able;
  for (const Gpu& gpu : node.inventory.gpus) {
    if (!gpu.mig || !gpu.uuid || !gpu.index || !gpu.faults.empty()) continue;
    const MigGeometry geometry = MigGeometry::Of(gpu.mig->profiles);
    if (model::ResolveProfile(geometry, profile.ToString()).ok()) able.push_back(&gpu);
  }
  if (able.empty()) {
    const std::string others = WhatTheyMake(node);
    return others.empty()
               ? "no GPU of this node can do MIG: choose another node"
               : fmt::format("no GPU of this node can make a {}: {}", profile.ToString(), others);
  }
  // Those that are divided already come first: the others lose a whole GPU.
  std::stable_partition(able.begin(), able.end(), [](const Gpu* gpu) { return gpu->mig->enabled; });
  model::MigPlanners planners;
  const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, 64));
  for (const std::uint32_t wanted : {most, std::uint32_t{1}})
    for (const Gpu* gpu : able)
      if (auto command = CommandFor(*gpu, holders, profile, wanted, planners))
        return fmt::format("`{}` makes {}", *command,
                           wanted == 1 ? "one" : fmt::format("{} of them", wanted));
  return fmt::format(
      "no GPU of this node has room for a {} beside what is there: wait until some "
      "pod ends, or see `partita mig plan`",
      profile.ToString());
}

std::string HowToMakeWhole(const NodeView& node) {
  const std::map<std::string, std::string> holders = HoldersById(node);
  model::MigPlanners planners;
  std::vector<std::string> held;
  for (const Gpu& gpu : node.inventory.gpus) {
    if (!gpu.mig || !gpu.uuid || !gpu.index || !gpu.faults.empty()) continue;
    const auto planned =
        model::PlanGpu(gpu, planners.For(*gpu.mig), model::GpuGoal{}, PinnedOf(gpu, holders));
    const auto* plan = std::get_if<model::GpuPlan>(&planned);
    if (plan == nullptr) continue;
    if (!plan->Blocked())
      return fmt::format("make GPU {0} whole again: `partita mig apply --gpu {0} --want off`",
                         *gpu.index);
    held.push_back(fmt::format("GPU {} is in use: {}", *gpu.index,
                               InTheWay(MigGeometry::From(*gpu.mig), *plan)));
  }
  if (held.empty()) return "see `partita health`";
  return "wait until a GPU can be made whole again: " + base::Join(held, "; ");
}

}  // namespace partita::service::explain
