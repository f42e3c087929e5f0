// GPU instances: creating, finding, destroying.

#include "sim/nvml/mig.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/state/holders.h"
#include "sim/state/life.h"

namespace partita::sim::nvml {
namespace {

nvmlReturn_t Create(const Device& device,
                    unsigned int id,
                    const nvmlGpuInstancePlacement_t* placement,
                    nvmlGpuInstance_t* out) {
  const GiProfile* profile = nullptr;
  const nvmlReturn_t code = FindProfile(*device.board, id, &profile);
  if (code != NVML_SUCCESS) return code;
  if (device.state.mig_current == 0) return NVML_ERROR_NOT_SUPPORTED;
  if (!MayConfigureMig()) return NVML_ERROR_NO_PERMISSION;
  if (placement != nullptr && placement->size != profile->placement_size) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  return Change([&](Slot& slot, const Machine&) {
    Gpu& gpu = slot.gpus[device.gpu];
    if (gpu.mig_current == 0) return NVML_ERROR_NOT_SUPPORTED;
    uint32_t instance = 0;
    const MigStatus status = CreateGpuInstance(*device.board, gpu, *profile,
                                               placement != nullptr ? placement->start : kNone,
                                               slot.next_incarnation, &instance);
    if (status != MigStatus::kDone) return CodeOf(status);
    slot.next_incarnation += 1;
    AddEvent(slot, device.gpu, kEventMigConfigChange, 0);
    *out = GpuInstanceHandle(device.gpu, instance);
    return NVML_SUCCESS;
  });
}

nvmlReturn_t Destroy(const Device& device) {
  if (!MayConfigureMig()) return NVML_ERROR_NO_PERMISSION;
  return Change([&](Slot& slot, const Machine& machine) {
    Reap(State().root(), machine, slot);
    Gpu& gpu = slot.gpus[device.gpu];
    // The handle named one incarnation; another process may have replaced it meanwhile.
    if (gpu.instances[device.gpu_instance].incarnation != device.instance().incarnation) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (IsHeld(slot, device.gpu, device.gpu_instance, kNone)) return NVML_ERROR_IN_USE;
    const MigStatus status = DestroyGpuInstance(gpu, device.gpu_instance);
    if (status == MigStatus::kDone) AddEvent(slot, device.gpu, kEventMigConfigChange, 0);
    return CodeOf(status);
  });
}

nvmlReturn_t List(const Device& device,
                  unsigned int id,
                  nvmlGpuInstance_t* out,
                  unsigned int* count) {
  if (out == nullptr || count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const GiProfile* profile = nullptr;
  const nvmlReturn_t code = FindProfile(*device.board, id, &profile);
  if (code != NVML_SUCCESS) return code;
  *count = 0;
  for (uint32_t gi = 0; gi < kMaxGpuInstances; ++gi) {
    const GpuInstance& instance = device.state.instances[gi];
    if (instance.live == 0 || instance.profile != profile->constant) continue;
    out[(*count)++] = GpuInstanceHandle(device.gpu, gi);
  }
  return NVML_SUCCESS;
}

}  // namespace
}  // namespace partita::sim::nvml

namespace nvml = partita::sim::nvml;
using nvml::Device;

NVML_API(nvmlDeviceCreateGpuInstance,
         nvmlDevice_t device,
         unsigned int id,
         nvmlGpuInstance_t* instance) {
  return nvml::GpuCall(__func__, device, [&](const Device& gpu) {
    if (instance == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return nvml::Create(gpu, id, nullptr, instance);
  });
}

NVML_API(nvmlDeviceCreateGpuInstanceWithPlacement,
         nvmlDevice_t device,
         unsigned int id,
         const nvmlGpuInstancePlacement_t* placement,
         nvmlGpuInstance_t* instance) {
  return nvml::GpuCall(__func__, device, [&](const Device& gpu) {
    if (instance == nullptr || placement == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return nvml::Create(gpu, id, placement, instance);
  });
}

NVML_API(nvmlGpuInstanceDestroy, nvmlGpuInstance_t instance) {
  return nvml::GpuInstanceCall(__func__, instance,
                               [](const Device& gi) { return nvml::Destroy(gi); });
}

NVML_API(nvmlDeviceGetGpuInstances,
         nvmlDevice_t device,
         unsigned int id,
         nvmlGpuInstance_t* instances,
         unsigned int* count) {
  return nvml::GpuCall(__func__, device,
                       [&](const Device& gpu) { return nvml::List(gpu, id, instances, count); });
}

NVML_API(nvmlDeviceGetGpuInstanceById,
         nvmlDevice_t device,
         unsigned int id,
         nvmlGpuInstance_t* instance) {
  return nvml::GpuCall(__func__, device, [&](const Device& gpu) {
    if (instance == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (!nvml::HasMig(*gpu.board)) return NVML_ERROR_NOT_SUPPORTED;
    if (id >= partita::sim::kMaxGpuInstances || gpu.state.instances[id].live == 0) {
      return NVML_ERROR_NOT_FOUND;
    }
    *instance = nvml::GpuInstanceHandle(gpu.gpu, id);
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlGpuInstanceGetInfo, nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t* info) {
  return nvml::GpuInstanceCall(__func__, instance, [&](const Device& gi) {
    if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const auto* profile = partita::sim::FindGiProfile(*gi.board, gi.instance().profile);
    if (profile == nullptr) return NVML_ERROR_UNKNOWN;
    *info = {nvml::GpuHandle(gi.gpu),
             gi.gpu_instance,
             profile->id,
             {gi.instance().start, profile->placement_size}};
    return NVML_SUCCESS;
  });
}
