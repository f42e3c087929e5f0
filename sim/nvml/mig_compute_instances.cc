// Compute instances: profiles inside a GPU instance, creating, finding, destroying.

#include <stdio.h>
#include <string.h>

#include "sim/nvml/mig.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/state/holders.h"
#include "sim/state/life.h"

namespace partita::sim::nvml {

nvmlReturn_t FindProfile(const Board& board,
                         const GpuInstance& gi,
                         uint32_t id,
                         const CiProfile** out) {
  if (id >= NVML_COMPUTE_INSTANCE_PROFILE_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
  *out = FindCiProfile(board, gi.profile, id);
  return *out != nullptr ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

namespace {

nvmlReturn_t Describe(const Device& gi,
                      unsigned int profile,
                      unsigned int engine_profile,
                      const CiProfile** ci,
                      nvmlComputeInstanceProfileInfo_t* out) {
  if (engine_profile >= NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  const nvmlReturn_t code = FindProfile(*gi.board, gi.instance(), profile, ci);
  if (code != NVML_SUCCESS) return code;
  const GiProfile* parent = FindGiProfile(*gi.board, gi.instance().profile);
  if (parent == nullptr) return NVML_ERROR_UNKNOWN;
  *out = {(*ci)->id,
          (*ci)->slice_count,
          (*ci)->instance_count,
          (*ci)->multiprocessors,
          parent->copy_engines,
          parent->decoders,
          parent->encoders,
          parent->jpegs,
          parent->ofas};
  return NVML_SUCCESS;
}

// `T` has the v2 fields after its version; both versions write it back as 0, as driver 580 does for
// the profiles of GPU instances.
template <class T>
void WriteTaggedComputeProfile(const Device& gi,
                               const CiProfile& ci,
                               const nvmlComputeInstanceProfileInfo_t& info,
                               void* out) {
  T tagged{};
  tagged.id = info.id;
  tagged.sliceCount = info.sliceCount;
  tagged.instanceCount = info.instanceCount;
  tagged.multiprocessorCount = info.multiprocessorCount;
  tagged.sharedCopyEngineCount = info.sharedCopyEngineCount;
  tagged.sharedDecoderCount = info.sharedDecoderCount;
  tagged.sharedEncoderCount = info.sharedEncoderCount;
  tagged.sharedJpegCount = info.sharedJpegCount;
  tagged.sharedOfaCount = info.sharedOfaCount;
  char name[kProfileNameSize];
  NameCiProfile(*gi.board, *FindGiProfile(*gi.board, gi.instance().profile), ci, name);
  snprintf(tagged.name, sizeof tagged.name, "MIG %s", name);
  memcpy(out, &tagged, sizeof tagged);
}

// What a fault makes of the call; kFail: what it was asked for. `start` kNone: it was asked for no
// place, so that there is no other one.
CallFaultKind OtherComputeEffect(uint32_t gpu, uint32_t start) {
  const char* const function = start == kNone ? "nvmlGpuInstanceCreateComputeInstance"
                                              : "nvmlGpuInstanceCreateComputeInstanceWithPlacement";
  const auto takes = [=](CallFaultKind kind) { return TakeFault(function, gpu, kind).live != 0; };
  if (start != kNone && takes(CallFaultKind::kOtherPlace)) return CallFaultKind::kOtherPlace;
  if (takes(CallFaultKind::kOtherProfile)) return CallFaultKind::kOtherProfile;
  return CallFaultKind::kFail;
}

// The first place that is not the one asked for, or the first other profile that there is room for.
MigStatus CreateOtherCompute(CallFaultKind kind,
                             const Board& board,
                             GpuInstance& gi,
                             const CiProfile& asked,
                             uint32_t start,
                             uint32_t* id) {
  if (kind == CallFaultKind::kOtherPlace) {
    for (uint32_t i = 0; i < asked.placement_count; ++i) {
      const uint32_t at = asked.placement_starts[i];
      if (at == start) continue;
      if (CreateComputeInstance(board, gi, asked, at, id) == MigStatus::kDone) {
        return MigStatus::kDone;
      }
    }
    return MigStatus::kNoRoom;
  }
  for (uint32_t other = 0; other < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; ++other) {
    const CiProfile* profile = FindCiProfile(board, gi.profile, other);
    if (profile == nullptr || profile->id == asked.id) continue;
    if (CreateComputeInstance(board, gi, *profile, kNone, id) == MigStatus::kDone) {
      return MigStatus::kDone;
    }
  }
  return MigStatus::kNoRoom;
}

nvmlReturn_t MakeComputeInstance(const Device& device,
                                 unsigned int id,
                                 const nvmlComputeInstancePlacement_t* placement,
                                 nvmlComputeInstance_t* out) {
  const CiProfile* profile = nullptr;
  const nvmlReturn_t code = FindProfile(*device.board, device.instance(), id, &profile);
  if (code != NVML_SUCCESS) return code;
  if (!MayConfigureMig()) return NVML_ERROR_NO_PERMISSION;
  if (placement != nullptr && placement->size != profile->slice_count) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  const uint32_t start = placement != nullptr ? placement->start : kNone;
  const CallFaultKind other = OtherComputeEffect(device.gpu, start);
  return Change([&](Slot& slot, const Machine&) {
    GpuInstance& gi = slot.gpus[device.gpu].instances[device.gpu_instance];
    if (gi.incarnation != device.instance().incarnation) return NVML_ERROR_INVALID_ARGUMENT;
    uint32_t instance = 0;
    const MigStatus status =
        other == CallFaultKind::kFail
            ? CreateComputeInstance(*device.board, gi, *profile, start, &instance)
            : CreateOtherCompute(other, *device.board, gi, *profile, start, &instance);
    if (status != MigStatus::kDone) return CodeOf(status);
    AddEvent(slot, device.gpu, kEventMigConfigChange, 0);
    *out = ComputeInstanceHandle(device.gpu, device.gpu_instance, instance);
    return NVML_SUCCESS;
  });
}

nvmlReturn_t DestroyComputeInstance(const Device& device) {
  if (!MayConfigureMig()) return NVML_ERROR_NO_PERMISSION;
  return Change([&](Slot& slot, const Machine& machine) {
    Reap(State().root(), machine, slot);
    GpuInstance& gi = slot.gpus[device.gpu].instances[device.gpu_instance];
    if (gi.incarnation != device.instance().incarnation) return NVML_ERROR_INVALID_ARGUMENT;
    if (IsHeld(slot, device.gpu, device.gpu_instance, device.compute_instance)) {
      return NVML_ERROR_IN_USE;
    }
    const MigStatus status = DestroyComputeInstance(gi, device.compute_instance);
    if (status == MigStatus::kDone) AddEvent(slot, device.gpu, kEventMigConfigChange, 0);
    return CodeOf(status);
  });
}

// The first version of the struct ends before the placement.
constexpr size_t kInfoV1 = 24;

nvmlReturn_t WriteInfo(const Device& ci, nvmlComputeInstanceInfo_t* out, size_t size) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const nvmlComputeInstanceInfo_t info = {
      MigDeviceHandle(ci.gpu, ci.gpu_instance, ci.compute_instance),
      GpuInstanceHandle(ci.gpu, ci.gpu_instance),
      ci.compute_instance,
      ci.compute().profile,
      {ci.compute().start, ci.compute().size}};
  memcpy(static_cast<void*>(out), &info, size);
  return NVML_SUCCESS;
}

}  // namespace
}  // namespace partita::sim::nvml

namespace nvml = partita::sim::nvml;
using nvml::Device;
using partita::sim::CiProfile;

NVML_API(nvmlGpuInstanceGetComputeInstanceProfileInfo,
         nvmlGpuInstance_t instance,
         unsigned int profile,
         unsigned int engine_profile,
         nvmlComputeInstanceProfileInfo_t* info) {
  return nvml::GpuInstanceCall(__func__, instance, [&](const Device& gi) {
    if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const CiProfile* found = nullptr;
    return nvml::Describe(gi, profile, engine_profile, &found, info);
  });
}

NVML_API(nvmlGpuInstanceGetComputeInstanceProfileInfoV,
         nvmlGpuInstance_t instance,
         unsigned int profile,
         unsigned int engine_profile,
         nvmlComputeInstanceProfileInfo_v2_t* info) {
  return nvml::GpuInstanceCall(__func__, instance, [&](const Device& gi) {
    if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const unsigned int tag = info->version;
    if (tag != nvmlComputeInstanceProfileInfo_v2 && tag != nvmlComputeInstanceProfileInfo_v3) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    const CiProfile* found = nullptr;
    nvmlComputeInstanceProfileInfo_t plain{};
    const nvmlReturn_t code = nvml::Describe(gi, profile, engine_profile, &found, &plain);
    if (code != NVML_SUCCESS) return code;
    if (tag == nvmlComputeInstanceProfileInfo_v2) {
      nvml::WriteTaggedComputeProfile<nvmlComputeInstanceProfileInfo_v2_t>(gi, *found, plain, info);
    } else {
      nvml::WriteTaggedComputeProfile<nvmlComputeInstanceProfileInfo_v3_t>(gi, *found, plain, info);
    }
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlGpuInstanceGetComputeInstanceRemainingCapacity,
         nvmlGpuInstance_t instance,
         unsigned int id,
         unsigned int* count) {
  return nvml::GpuInstanceCall(__func__, instance, [&](const Device& gi) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const CiProfile* profile = nullptr;
    const nvmlReturn_t code = nvml::FindProfile(*gi.board, gi.instance(), id, &profile);
    if (code != NVML_SUCCESS) return code;
    *count = partita::sim::RemainingComputeInstances(*gi.board, gi.instance(), *profile);
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlGpuInstanceGetComputeInstancePossiblePlacements,
         nvmlGpuInstance_t instance,
         unsigned int id,
         nvmlComputeInstancePlacement_t* placements,
         unsigned int* count) {
  return nvml::GpuInstanceCall(__func__, instance, [&](const Device& gi) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const CiProfile* profile = nullptr;
    const nvmlReturn_t code = nvml::FindProfile(*gi.board, gi.instance(), id, &profile);
    if (code != NVML_SUCCESS) return code;
    *count = profile->placement_count;
    for (uint32_t i = 0; placements != nullptr && i < profile->placement_count; ++i) {
      placements[i] = {profile->placement_starts[i], profile->slice_count};
    }
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlGpuInstanceCreateComputeInstance,
         nvmlGpuInstance_t instance,
         unsigned int id,
         nvmlComputeInstance_t* compute) {
  return nvml::GpuInstanceCall(__func__, instance, [&](const Device& gi) {
    if (compute == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return nvml::MakeComputeInstance(gi, id, nullptr, compute);
  });
}

NVML_API(nvmlGpuInstanceCreateComputeInstanceWithPlacement,
         nvmlGpuInstance_t instance,
         unsigned int id,
         const nvmlComputeInstancePlacement_t* placement,
         nvmlComputeInstance_t* compute) {
  return nvml::GpuInstanceCall(__func__, instance, [&](const Device& gi) {
    if (compute == nullptr || placement == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return nvml::MakeComputeInstance(gi, id, placement, compute);
  });
}

NVML_API(nvmlComputeInstanceDestroy, nvmlComputeInstance_t compute) {
  return nvml::ComputeInstanceCall(
      __func__, compute, [](const Device& ci) { return nvml::DestroyComputeInstance(ci); });
}

NVML_API(nvmlGpuInstanceGetComputeInstances,
         nvmlGpuInstance_t instance,
         unsigned int id,
         nvmlComputeInstance_t* computes,
         unsigned int* count) {
  return nvml::GpuInstanceCall(__func__, instance, [&](const Device& gi) {
    if (computes == nullptr || count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const CiProfile* profile = nullptr;
    const nvmlReturn_t code = nvml::FindProfile(*gi.board, gi.instance(), id, &profile);
    if (code != NVML_SUCCESS) return code;
    *count = 0;
    for (uint32_t ci = 0; ci < partita::sim::kMaxComputeInstances; ++ci) {
      const auto& compute = gi.instance().compute[ci];
      if (compute.live == 0 || compute.profile != id) continue;
      computes[(*count)++] = nvml::ComputeInstanceHandle(gi.gpu, gi.gpu_instance, ci);
    }
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlGpuInstanceGetComputeInstanceById,
         nvmlGpuInstance_t instance,
         unsigned int id,
         nvmlComputeInstance_t* compute) {
  return nvml::GpuInstanceCall(__func__, instance, [&](const Device& gi) {
    if (compute == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (id >= partita::sim::kMaxComputeInstances || gi.instance().compute[id].live == 0) {
      return NVML_ERROR_NOT_FOUND;
    }
    *compute = nvml::ComputeInstanceHandle(gi.gpu, gi.gpu_instance, id);
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlComputeInstanceGetInfo_v2,
         nvmlComputeInstance_t compute,
         nvmlComputeInstanceInfo_t* info) {
  return nvml::ComputeInstanceCall(
      __func__, compute, [&](const Device& ci) { return nvml::WriteInfo(ci, info, sizeof *info); });
}

NVML_API(nvmlComputeInstanceGetInfo,
         nvmlComputeInstance_t compute,
         nvmlComputeInstanceInfo_t* info) {
  return nvml::ComputeInstanceCall(__func__, compute, [&](const Device& ci) {
    return nvml::WriteInfo(ci, info, nvml::kInfoV1);
  });
}
