#include "service/explain/devices.h"

#include <algorithm>

#include "base/text.h"

namespace partita::service::explain {
namespace {

using device_plugin::ReportedDevice;
using device_plugin::ReportedResource;
using device_plugin::Standing;

const model::Gpu* GpuOf(const model::Inventory& inventory, const ReportedDevice& device) {
  for (const model::Gpu& gpu : inventory.gpus)
    if (gpu.pci == device.gpu && (device.mig || !gpu.uuid || gpu.uuid->value() == device.whole_id))
      return &gpu;
  return nullptr;
}

void DescribeSlice(const model::Gpu& gpu, const std::string& uuid, GivenDevice& given) {
  if (!gpu.mig) return;
  for (const model::GpuInstance& instance : gpu.mig->instances) {
    for (const model::ComputeInstance& compute : instance.compute_instances) {
      if (compute.uuid.value() != uuid) continue;
      given.profile = compute.name;
      given.multiprocessors = compute.multiprocessors;
      for (const model::GpuInstanceProfile& profile : gpu.mig->profiles)
        if (profile.id == instance.profile) given.memory = profile.memory;
    }
  }
}

// Of what stands behind "::": "2", "small-2".
std::uint32_t ShareNumber(const ReportedDevice& device) {
  std::string_view number =
      std::string_view(device.id).substr(std::min(device.whole_id.size() + 2, device.id.size()));
  if (const std::size_t dash = number.rfind('-'); dash != std::string_view::npos)
    number.remove_prefix(dash + 1);
  return static_cast<std::uint32_t>(base::ParseUnsigned(number).value_or(0));
}

ShareOf DescribeShare(const ReportedResource& resource, const ReportedDevice& device) {
  ShareOf share{ShareNumber(device), 0, {}, device.mps};
  for (const ReportedDevice& other : resource.devices) {
    if (other.whole_id != device.whole_id) continue;
    ++share.count;
    if (other.standing == Standing::kHeld) share.others.push_back(other.why);
  }
  return share;
}

}  // namespace

Mark MarkOf(const ReportedDevice& device,
            const std::set<std::string>& given,
            const std::set<std::string>& taken) {
  if (given.contains(device.id)) return Mark::kGiven;
  switch (device.standing) {
    case Standing::kFree: return taken.contains(device.id) ? Mark::kAbove : Mark::kFree;
    case Standing::kHeld: return Mark::kHeld;
    case Standing::kUnhealthy: return Mark::kUnhealthy;
  }
  return Mark::kUnhealthy;
}

GivenDevice Describe(const NodeView& node,
                     const ReportedResource& resource,
                     const ReportedDevice& device) {
  GivenDevice given;
  given.id = device.id;
  given.whole_id = device.whole_id;
  given.index = device.index;
  if (const model::Gpu* gpu = GpuOf(node.inventory, device)) {
    given.product = gpu->name;
    if (device.mig)
      DescribeSlice(*gpu, device.whole_id, given);
    else if (gpu->memory)
      given.memory = model::Mebibytes(gpu->memory->total.value() >> 20U);
  }
  if (device.id != device.whole_id) given.share = DescribeShare(resource, device);
  return given;
}

}  // namespace partita::service::explain
