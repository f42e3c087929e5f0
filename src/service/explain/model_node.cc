#include "service/explain/model_node.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/text.h"
#include "config/known/known_nodes.h"
#include "config/products.h"
#include "model/mig/plan.h"
#include "model/mig/wanted.h"
#include "service/mig/wanted_text.h"

namespace partita::service::explain {
namespace {

using base::Error;
using base::ErrorCode;
using model::Gpu;
using model::MigGeometry;

constexpr std::uint64_t kMostGpus = 64;
constexpr std::string_view kAsManyAsFit = "all-";
// Of products that stand in no machine: a domain that no machine has.
constexpr std::uint32_t kNowhere = 0xffff;

struct ModelWords {
  std::string name;
  std::uint64_t count = 1;
  bool counted = false;
  std::optional<std::string> layout;
};

base::Result<ModelWords> ReadWords(std::string_view text) {
  ModelWords words;
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos)
    words.layout = std::string(base::Trim(text.substr(equals + 1)));
  std::vector<std::string> names;
  for (const std::string_view word : base::SplitWords(text.substr(0, equals)))
    names.emplace_back(word);
  if (names.size() > 1 && names.back().starts_with('x')) {
    const auto count = base::ParseUnsigned(std::string_view(names.back()).substr(1));
    if (count) {
      if (*count == 0 || *count > kMostGpus)
        return base::MakeError(ErrorCode::kInvalid, "{} GPUs", *count)
            .WithHint(fmt::format("1 to {} are possible", kMostGpus));
      words.count = *count;
      words.counted = true;
      names.pop_back();
    }
  }
  words.name = base::Join(names, " ");
  return words;
}

base::Result<model::GpuGoal> GoalOf(const Gpu& gpu, const std::string& layout) {
  if (!layout.starts_with(kAsManyAsFit)) {
    TRY(wanted, mig::WantedText::Parse(layout));
    return mig::ResolveWanted(wanted, gpu);
  }
  const MigGeometry geometry = MigGeometry::From(*gpu.mig);
  TRY(device,
      model::ResolveProfile(geometry, std::string_view(layout).substr(kAsManyAsFit.size())));
  model::GpuGoal goal{true, {}};
  model::AddDevices(goal.devices, device, geometry.profiles[device.profile].instance_count);
  return goal;
}

// As the driver would list it. The numbers of capability nodes are nobody's: none are shown.
model::GpuInstance MakeInstance(const MigGeometry& geometry,
                                const model::InstanceGoal& goal,
                                std::uint32_t gpu,
                                std::uint32_t& slot) {
  const model::GpuInstanceProfile& profile = geometry.profiles[goal.place.profile];
  model::GpuInstance instance;
  instance.id = model::GpuInstanceId(slot + 1);
  instance.profile = profile.id;
  instance.profile_name = profile.name;
  instance.placement = *model::FindPlacement(geometry, goal.place);
  instance.access = model::CapabilityMinor(0);
  std::uint32_t start = 0;
  for (const std::uint32_t slices : goal.compute) {
    model::ComputeInstance compute;
    compute.id =
        model::ComputeInstanceId(static_cast<std::uint32_t>(instance.compute_instances.size()));
    compute.placement = {start, slices};
    compute.slice_count = slices;
    compute.multiprocessors =
        profile.slice_count == 0 ? 0 : profile.multiprocessors / profile.slice_count * slices;
    compute.name = model::DeviceName(geometry, {goal.place.profile, slices});
    compute.slot = slot;
    compute.access = model::CapabilityMinor(0);
    compute.uuid = model::MigUuid(fmt::format("MIG-00000000-0000-0000-{:04}-{:012}", gpu, slot++));
    start += slices;
    instance.compute_instances.push_back(std::move(compute));
  }
  return instance;
}

base::Result<void> LayOut(Gpu& gpu, const std::string& layout) {
  TRY(goal, GoalOf(gpu, layout));
  if (!goal.mig_enabled) return {};
  model::MigPlanners planners;
  const auto planned = model::PlanGpu(gpu, planners.For(*gpu.mig), goal);
  if (const auto* refusal = std::get_if<model::Refusal>(&planned))
    return Error(ErrorCode::kInvalid, refusal->text).WithHint(refusal->hint);
  const MigGeometry geometry = MigGeometry::From(*gpu.mig);
  std::uint32_t slot = 0;
  for (const model::InstanceGoal& created : std::get<model::GpuPlan>(planned).layout.created)
    gpu.mig->instances.push_back(MakeInstance(geometry, created, gpu.index->value(), slot));
  gpu.mig->enabled = gpu.mig->pending_enabled = true;
  return {};
}

class Builder {
 public:
  base::Result<void> Add(const std::string& text, const std::optional<std::string>& layout) {
    TRY(words, ReadWords(text));
    const std::vector<std::string> machines = config::KnownNodeNames();
    std::vector<Gpu> gpus;
    if (std::find(machines.begin(), machines.end(), words.name) != machines.end()) {
      if (words.counted)
        return base::MakeError(ErrorCode::kInvalid, "{} is a machine, and there is one", words.name)
            .WithHint("name a product to have several");
      TRY(known, config::ReadKnownNode(words.name));
      node_.inventory.driver = known.node.driver;
      node_.facts.machine = known.machine;
      gpus = std::move(known.node.gpus);
    } else {
      TRY(gpu, Product(words.name, machines));
      gpus.assign(words.count, gpu);
    }
    for (Gpu& gpu : gpus) TRY_VOID(AddGpu(std::move(gpu), words.layout, layout));
    return {};
  }

  ModelNode Done() && {
    // A node with GPUs has a driver; which one is not known.
    if (!node_.inventory.driver) node_.inventory.driver.emplace();
    node_.facts.gpus_on_bus = static_cast<std::uint32_t>(node_.inventory.gpus.size());
    return std::move(node_);
  }

 private:
  static base::Result<Gpu> Product(const std::string& name,
                                   const std::vector<std::string>& machines) {
    base::Result<Gpu> gpu = config::ProductGpu(name);
    if (gpu.ok()) return gpu;
    const std::string hint = gpu.error().hint();
    return std::move(gpu).error().WithHint(fmt::format(
        "{}{}machines are {}", hint, hint.empty() ? "" : "; ", base::Join(machines, ", ")));
  }

  base::Result<void> AddGpu(Gpu gpu,
                            const std::optional<std::string>& own,
                            const std::optional<std::string>& shared) {
    const auto index = static_cast<std::uint32_t>(node_.inventory.gpus.size());
    if (index >= kMostGpus)
      return base::MakeError(ErrorCode::kInvalid, "more than {} GPUs", kMostGpus);
    gpu.index = model::GpuIndex(index);
    gpu.minor = model::DeviceMinor(index);
    if (!gpu.uuid)
      gpu.uuid = model::GpuUuid(fmt::format("GPU-00000000-0000-0000-0000-{:012}", index));
    if (gpu.pci == model::PciAddress())
      gpu.pci = {kNowhere, static_cast<std::uint8_t>(index + 1), 0, 0};
    if (own && !gpu.mig) return base::MakeError(ErrorCode::kInvalid, "{} cannot do MIG", gpu.name);
    const std::optional<std::string>& layout = own ? own : shared;
    if (layout && gpu.mig) TRY_VOID(LayOut(gpu, *layout), "{}", *layout);
    node_.inventory.gpus.push_back(std::move(gpu));
    return {};
  }

  ModelNode node_;
};

}  // namespace

base::Result<ModelNode> MakeModelNode(const std::vector<std::string>& models,
                                      const std::optional<std::string>& layout) {
  Builder builder;
  for (const std::string& model : models)
    TRY_VOID(builder.Add(model, layout), "--model {}", base::Quoted(model));
  ModelNode node = std::move(builder).Done();
  const auto& gpus = node.inventory.gpus;
  if (layout && std::none_of(gpus.begin(), gpus.end(), [](const Gpu& gpu) { return gpu.mig; }))
    return Error(ErrorCode::kInvalid, "--mig: no GPU of the model can do MIG");
  return node;
}

}  // namespace partita::service::explain
