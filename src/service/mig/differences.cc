#include "service/mig/differences.h"

#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "model/mig/plan.h"
#include "model/mig/wanted.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {
namespace {

std::uint32_t CountOf(const model::DeviceCounts& devices, const model::WantedDevice& device) {
  const auto found = devices.find(device);
  return found == devices.end() ? 0 : found->second;
}

void CompareDevices(const model::MigGeometry& geometry,
                    const model::DeviceCounts& present,
                    const model::DeviceCounts& wanted,
                    GpuDifference& difference) {
  model::DeviceCounts all = present;
  all.insert(wanted.begin(), wanted.end());
  for (const auto& [device, unused] : all) {
    const std::uint32_t has = CountOf(present, device);
    const std::uint32_t shall = CountOf(wanted, device);
    const std::string name = model::DeviceName(geometry, device);
    if (has > shall) difference.gone.push_back(fmt::format("{} x {}", has - shall, name));
    if (shall > has) difference.added.push_back(fmt::format("{} x {}", shall - has, name));
  }
}

// GPU instances in which nothing can run: what a change that was killed leaves behind.
void AddUnclaimed(const model::Gpu& gpu, GpuDifference& difference) {
  std::map<std::string, std::uint32_t> unclaimed;
  for (const model::GpuInstance& instance : gpu.mig->instances) {
    if (instance.compute_instances.empty()) ++unclaimed[instance.profile_name];
  }
  for (const auto& [name, count] : unclaimed) {
    difference.gone.push_back(
        fmt::format("{} x {}, unclaimed: it has no compute instance", count, name));
  }
}

GpuDifference DifferenceOf(const model::Gpu& gpu, const GpuTarget& target, bool mode_only) {
  GpuDifference difference{target.gpu, {}, {}};
  if (!gpu.mig) {
    if (target.goal.mig_enabled) difference.added.emplace_back("MIG on, of which it is incapable");
    return difference;
  }
  if (gpu.mig->enabled != target.goal.mig_enabled) {
    difference.gone.emplace_back(gpu.mig->enabled ? "MIG on" : "MIG off");
    difference.added.emplace_back(target.goal.mig_enabled ? "MIG on" : "MIG off");
  }
  if (mode_only) return difference;
  const model::MigGeometry geometry = model::MigGeometry::From(*gpu.mig);
  CompareDevices(geometry, model::PresentDevices(gpu, geometry), target.goal.devices, difference);
  // A checkpoint may want one.
  if (!target.exact) AddUnclaimed(gpu, difference);
  return difference;
}

}  // namespace

base::Result<std::vector<GpuDifference>> Differences(const model::Inventory& node,
                                                     const NodeGoal& goal,
                                                     bool mode_only) {
  std::vector<GpuDifference> differences;
  for (const GpuTarget& target : goal) {
    const model::Gpu* gpu = model::FindGpu(node, target.gpu);
    if (gpu == nullptr) return GoneError(target.gpu);
    TRY_VOID(CheckRead(*gpu));
    GpuDifference difference = DifferenceOf(*gpu, target, mode_only);
    if (!difference.gone.empty() || !difference.added.empty()) {
      differences.push_back(std::move(difference));
    }
  }
  return differences;
}

}  // namespace partita::service::mig
