// MIG mode, and MIG devices as devices.

#include <string.h>

#include "sim/nvml/mig.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/session.h"
#include "sim/state/holders.h"
#include "sim/state/life.h"

namespace partita::sim::nvml {
namespace {

nvmlReturn_t ActivationCode(ModeChange change) {
  switch (change) {
    case ModeChange::kActive: return NVML_SUCCESS;
    case ModeChange::kInUse: return NVML_ERROR_IN_USE;
    case ModeChange::kResetRequired: return NVML_ERROR_RESET_REQUIRED;
  }
  return NVML_ERROR_UNKNOWN;
}

// The request is accepted, and something keeps it from taking effect.
nvmlReturn_t LeavePending(const Device& device,
                          unsigned int mode,
                          uint32_t why,
                          nvmlReturn_t* activation) {
  return Change([&](Slot& slot, const Machine&) {
    slot.gpus[device.gpu].mig_pending = mode;
    *activation = static_cast<nvmlReturn_t>(why);
    return NVML_SUCCESS;
  });
}

nvmlReturn_t SetMode(const Device& device, unsigned int mode, nvmlReturn_t* activation) {
  return Change([&](Slot& slot, const Machine& machine) {
    Gpu& gpu = slot.gpus[device.gpu];
    const uint32_t before = gpu.mig_current;
    Reap(State().root(), machine, slot);
    const bool held = IsHeld(slot, device.gpu, kNone, kNone);
    ModeChange change = ModeChange::kActive;
    const MigStatus status = SetMigMode(machine, *device.board, gpu, mode == 1, held, &change);
    if (status == MigStatus::kInUse) *activation = NVML_ERROR_IN_USE;
    if (status != MigStatus::kDone) return CodeOf(status);
    if (gpu.mig_current != before) AddEvent(slot, device.gpu, kEventMigConfigChange, 0);
    *activation = ActivationCode(change);
    return NVML_SUCCESS;
  });
}

// MIG devices are numbered by ascending GPU instance, then compute instance, over those visible.
nvmlReturn_t FindMigDeviceByIndex(const Device& device, unsigned int index, nvmlDevice_t* out) {
  const MigVisibility visibility;
  unsigned int seen = 0;
  for (uint32_t gi = 0; gi < kMaxGpuInstances; ++gi) {
    const GpuInstance& instance = device.state.instances[gi];
    for (uint32_t ci = 0; instance.live != 0 && ci < kMaxComputeInstances; ++ci) {
      if (instance.compute[ci].live == 0 || !visibility.Sees(device.gpu, gi, ci)) continue;
      if (seen++ != index) continue;
      *out = MigDeviceHandle(device.gpu, gi, ci);
      return NVML_SUCCESS;
    }
  }
  return NVML_ERROR_NOT_FOUND;
}

// The first version of the struct ends before the slice counts.
constexpr size_t kAttributesV1 = 24;

nvmlReturn_t Attributes(const Device& device, nvmlDeviceAttributes_t* out, size_t size) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (!device.is_mig) return NVML_ERROR_NOT_SUPPORTED;
  const Board& board = *device.board;
  const GiProfile* gi = FindGiProfile(board, device.instance().profile);
  const CiProfile* ci = FindCiProfile(board, device.instance().profile, device.compute().profile);
  if (gi == nullptr || ci == nullptr) return NVML_ERROR_UNKNOWN;
  const nvmlDeviceAttributes_t attributes = {ci->multiprocessors, gi->copy_engines, gi->decoders,
                                             gi->encoders,        gi->jpegs,        gi->ofas,
                                             gi->slice_count,     ci->slice_count,  gi->memory_mb};
  memcpy(out, &attributes, size);
  return NVML_SUCCESS;
}

}  // namespace

bool MayConfigureMig() { return IsRoot() && TheSession().may_configure_mig != 0; }

}  // namespace partita::sim::nvml

namespace nvml = partita::sim::nvml;
using nvml::Device;
using partita::sim::CallFaultKind;

NVML_API(nvmlDeviceGetMigMode, nvmlDevice_t device, unsigned int* current, unsigned int* pending) {
  return nvml::GpuCall(__func__, device, [&](const Device& gpu) {
    if (current == nullptr || pending == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (!nvml::HasMig(*gpu.board)) return NVML_ERROR_NOT_SUPPORTED;
    *current = gpu.state.mig_current;
    *pending = gpu.state.mig_pending;
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlDeviceSetMigMode, nvmlDevice_t device, unsigned int mode, nvmlReturn_t* activation) {
  return nvml::GpuCall(__func__, device, [&](const Device& gpu) {
    if (activation == nullptr || mode > 1) return NVML_ERROR_INVALID_ARGUMENT;
    if (!nvml::HasMig(*gpu.board)) return NVML_ERROR_NOT_SUPPORTED;
    if (!nvml::IsRoot()) return NVML_ERROR_NO_PERMISSION;
    const auto fault = nvml::TakeFault("nvmlDeviceSetMigMode", gpu.gpu, CallFaultKind::kActivation);
    if (fault.live != 0) return nvml::LeavePending(gpu, mode, fault.code, activation);
    return nvml::SetMode(gpu, mode, activation);
  });
}

NVML_API(nvmlDeviceGetMaxMigDeviceCount, nvmlDevice_t device, unsigned int* count) {
  return nvml::GpuCall(__func__, device, [&](const Device& gpu) {
    return nvml::WriteValue(count, gpu.state.mig_current != 0 ? gpu.board->max_mig_devices : 0U);
  });
}

NVML_API(nvmlDeviceGetMigDeviceHandleByIndex,
         nvmlDevice_t device,
         unsigned int index,
         nvmlDevice_t* mig_device) {
  return nvml::GpuCall(
      __func__, device,
      [&](const Device& gpu) {
        if (mig_device == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        return nvml::FindMigDeviceByIndex(gpu, index, mig_device);
      },
      NVML_ERROR_INVALID_ARGUMENT);
}

NVML_API(nvmlDeviceIsMigDeviceHandle, nvmlDevice_t device, unsigned int* is_mig_device) {
  return nvml::DeviceCall(__func__, device, [&](const Device& any) {
    return nvml::WriteValue(is_mig_device, any.is_mig ? 1U : 0U);
  });
}

NVML_API(nvmlDeviceGetDeviceHandleFromMigDeviceHandle,
         nvmlDevice_t mig_device,
         nvmlDevice_t* device) {
  return nvml::DeviceCall(__func__, mig_device, [&](const Device& mig) {
    if (!mig.is_mig) return NVML_ERROR_INVALID_ARGUMENT;
    return nvml::WriteValue(device, nvml::GpuHandle(mig.gpu));
  });
}

NVML_API(nvmlDeviceGetGpuInstanceId, nvmlDevice_t mig_device, unsigned int* id) {
  return nvml::DeviceCall(__func__, mig_device, [&](const Device& mig) {
    if (!mig.is_mig) return NVML_ERROR_INVALID_ARGUMENT;
    return nvml::WriteValue(id, mig.gpu_instance);
  });
}

NVML_API(nvmlDeviceGetComputeInstanceId, nvmlDevice_t mig_device, unsigned int* id) {
  return nvml::DeviceCall(__func__, mig_device, [&](const Device& mig) {
    if (!mig.is_mig) return NVML_ERROR_INVALID_ARGUMENT;
    return nvml::WriteValue(id, mig.compute_instance);
  });
}

NVML_API(nvmlDeviceGetAttributes_v2, nvmlDevice_t mig_device, nvmlDeviceAttributes_t* attributes) {
  return nvml::DeviceCall(__func__, mig_device, [&](const Device& any) {
    return nvml::Attributes(any, attributes, sizeof *attributes);
  });
}

NVML_API(nvmlDeviceGetAttributes, nvmlDevice_t mig_device, nvmlDeviceAttributes_t* attributes) {
  return nvml::DeviceCall(__func__, mig_device, [&](const Device& any) {
    return nvml::Attributes(any, attributes, nvml::kAttributesV1);
  });
}
