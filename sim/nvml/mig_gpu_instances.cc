// GPU instances: creating, finding, destroying.

#include "sim/nvml/mig.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/state/holders.h"
#include "sim/state/life.h"

namespace partita::sim::nvml {
namespace {

bool IsOther(CallFaultKind kind, const GiProfile& profile, const GiProfile& asked) {
  return (kind == CallFaultKind::kOtherPlace) == (profile.id == asked.id);
}

// Another profile of the same slices where there is one, else the first that this GPU has room for
// and that is not what was asked for.
MigStatus CreateOther(CallFaultKind kind,
                      const Board& board,
                      Gpu& gpu,
                      const GiProfile& asked,
                      uint32_t start,
                      uint64_t incarnation,
                      uint32_t* id) {
  for (uint32_t i = 0; kind == CallFaultKind::kOtherProfile && i < board.gi_profile_count; ++i) {
    const GiProfile& profile = board.gi_profiles[i];
    if (profile.id == asked.id || profile.placement_size != asked.placement_size) continue;
    if (CreateGpuInstance(board, gpu, profile, start, incarnation, id) == MigStatus::kDone) {
      return MigStatus::kDone;
    }
  }
  for (uint32_t i = 0; i < board.gi_profile_count; ++i) {
    const GiProfile& profile = board.gi_profiles[i];
    for (uint32_t p = 0; IsOther(kind, profile, asked) && p < profile.placement_count; ++p) {
      const uint32_t at = profile.placement_starts[p];
      if (kind == CallFaultKind::kOtherPlace && at == start) continue;
      if (CreateGpuInstance(board, gpu, profile, at, incarnation, id) == MigStatus::kDone) {
        return MigStatus::kDone;
      }
    }
  }
  return MigStatus::kNoRoom;
}

MigStatus CreateAsked(const Device& device,
                      Gpu& gpu,
                      const GiProfile& profile,
                      uint32_t start,
                      uint64_t incarnation,
                      CallFaultKind other,
                      uint32_t* id) {
  if (other != CallFaultKind::kFail) {
    return CreateOther(other, *device.board, gpu, profile, start, incarnation, id);
  }
  return CreateGpuInstance(*device.board, gpu, profile, start, incarnation, id);
}

// What a fault makes of the call; kFail: what it was asked for.
CallFaultKind OtherEffect(uint32_t gpu) {
  const auto takes = [gpu](CallFaultKind kind) {
    return TakeFault("nvmlDeviceCreateGpuInstanceWithPlacement", gpu, kind).live != 0;
  };
  if (takes(CallFaultKind::kOtherPlace)) return CallFaultKind::kOtherPlace;
  if (takes(CallFaultKind::kOtherProfile)) return CallFaultKind::kOtherProfile;
  return CallFaultKind::kFail;
}

nvmlReturn_t MakeGpuInstance(const Device& device,
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
  const CallFaultKind other = placement != nullptr ? OtherEffect(device.gpu) : CallFaultKind::kFail;
  return Change([&](Slot& slot, const Machine&) {
    Gpu& gpu = slot.gpus[device.gpu];
    if (gpu.mig_current == 0) return NVML_ERROR_NOT_SUPPORTED;
    uint32_t instance = 0;
    const uint32_t start = placement != nullptr ? placement->start : kNone;
    const MigStatus status =
        CreateAsked(device, gpu, *profile, start, slot.next_incarnation, other, &instance);
    if (status != MigStatus::kDone) return CodeOf(status);
    slot.next_incarnation += 1;
    AddEvent(slot, device.gpu, kEventMigConfigChange, 0);
    *out = GpuInstanceHandle(device.gpu, instance);
    return NVML_SUCCESS;
  });
}

nvmlReturn_t DestroyGpuInstance(const Device& device) {
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
    return nvml::MakeGpuInstance(gpu, id, nullptr, instance);
  });
}

NVML_API(nvmlDeviceCreateGpuInstanceWithPlacement,
         nvmlDevice_t device,
         unsigned int id,
         const nvmlGpuInstancePlacement_t* placement,
         nvmlGpuInstance_t* instance) {
  return nvml::GpuCall(__func__, device, [&](const Device& gpu) {
    if (instance == nullptr || placement == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return nvml::MakeGpuInstance(gpu, id, placement, instance);
  });
}

NVML_API(nvmlGpuInstanceDestroy, nvmlGpuInstance_t instance) {
  return nvml::GpuInstanceCall(__func__, instance,
                               [](const Device& gi) { return nvml::DestroyGpuInstance(gi); });
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
