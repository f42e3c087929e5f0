#include "agent/ledger/plan_scope.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "model/gpu_identity.h"
#include "model/mig/geometry.h"
#include "service/ledger/atoms.h"

namespace partita::agent {
namespace {

using model::StepKind;
using service::ledger::Device;
using service::ledger::WholeGpu;

void AddScope(const model::Gpu& gpu, const service::mig::GpuSteps& work, std::vector<Device>& all) {
  const WholeGpu whole{*gpu.uuid, gpu.pci};
  const bool everything =
      std::any_of(work.steps.begin(), work.steps.end(), [](const model::PlanStep& step) {
        return step.kind == StepKind::kSetMode || step.kind == StepKind::kReset;
      });
  if (everything || !gpu.mig) {
    all.emplace_back(whole);
    return;
  }
  const model::MigGeometry geometry = model::MigGeometry::From(*gpu.mig);
  std::map<std::string, Device> devices;  // each once
  for (const model::PlanStep& step : work.steps) {
    const bool known = step.place.profile < geometry.profiles.size();
    const model::Placement* place = known ? model::FindPlacement(geometry, step.place) : nullptr;
    Device device = whole;
    if (place != nullptr)
      device =
          service::ledger::WholeInstance(whole, geometry.profiles[step.place.profile].id, *place);
    devices.emplace(KeyOf(device), device);
  }
  for (auto& [key, device] : devices) all.push_back(std::move(device));
}

}  // namespace

std::vector<Device> ScopeOf(const model::Inventory& node,
                            const std::vector<service::mig::GpuSteps>& steps) {
  std::vector<Device> scope;
  for (const service::mig::GpuSteps& work : steps) {
    const model::Gpu* gpu = model::FindGpu(node, work.gpu);
    if (gpu != nullptr && gpu->uuid && !work.steps.empty()) AddScope(*gpu, work, scope);
  }
  return scope;
}

service::ledger::Asked AskedFor(const model::Inventory& node,
                                const std::optional<service::mig::Checkpoint>& layout,
                                const std::vector<Device>& ours) {
  if (!layout) return std::nullopt;
  std::set<model::InstanceKey> asked;
  for (const model::Gpu& gpu : node.gpus) {
    if (!gpu.uuid || !gpu.mig) continue;
    for (const model::GpuInstance& instance : gpu.mig->instances) {
      const Device place = service::ledger::WholeInstance({*gpu.uuid, gpu.pci}, instance.profile,
                                                          instance.placement);
      const bool made = std::any_of(ours.begin(), ours.end(), [&](const Device& device) {
        return service::ledger::Overlap({device}, {place}) != service::ledger::Clash::kNone;
      });
      if (made || !layout->Has(gpu.uuid->value()) || layout->Lists(gpu, instance))
        asked.insert({*gpu.uuid, instance.profile, instance.placement.start});
    }
  }
  return asked;
}

}  // namespace partita::agent
