#include "model/gpu_select.h"

#include <algorithm>

#include "model/selector.h"

namespace partita::model {
namespace {

template <typename T, typename Predicate>
bool AnyOrNone(const std::vector<T>& wanted, Predicate matches) {
  return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), matches);
}

bool HasProfile(const Gpu& gpu, const std::string& profile) {
  if (!gpu.mig || !gpu.mig->enabled) return false;
  return std::any_of(
      gpu.mig->instances.begin(), gpu.mig->instances.end(), [&](const GpuInstance& instance) {
        return std::any_of(instance.compute_instances.begin(), instance.compute_instances.end(),
                           [&](const ComputeInstance& compute) { return compute.name == profile; });
      });
}

}  // namespace

bool Matches(const GpuSelect& select, const Gpu& gpu) {
  return AnyOrNone(select.index, [&](GpuIndex index) { return gpu.index == index; }) &&
         AnyOrNone(select.uuid, [&](const GpuUuid& uuid) { return gpu.uuid == uuid; }) &&
         AnyOrNone(select.pci, [&](const PciAddress& pci) { return gpu.pci == pci; }) &&
         AnyOrNone(select.product,
                   [&](const std::string& product) {
                     return GpuSelector(ProductName(product)).Matches(gpu);
                   }) &&
         AnyOrNone(select.numa, [&](int numa) { return gpu.numa_node == numa; }) &&
         AnyOrNone(select.profile,
                   [&](const std::string& profile) { return HasProfile(gpu, profile); });
}

}  // namespace partita::model
