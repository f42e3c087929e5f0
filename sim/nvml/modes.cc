// Modes that are read and set per GPU.

#include "sim/nvml/api.h"
#include "sim/nvml/nvml_calls.h"

namespace partita::sim::nvml {
namespace {

// Sets one word of a GPU's state, seen by all processes when the call returns.
nvmlReturn_t SetWord(uint32_t gpu, uint32_t Gpu::*word, uint32_t value) {
  if (!IsRoot()) return NVML_ERROR_NO_PERMISSION;
  return Change([&](Slot& slot, const Machine&) {
    slot.gpus[gpu].*word = value;
    return NVML_SUCCESS;
  });
}

}  // namespace

NVML_API(nvmlDeviceGetVirtualizationMode, nvmlDevice_t handle, nvmlGpuVirtualizationMode_t* mode) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (mode == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (device.board->virtualization_mode.known == 0) return NVML_ERROR_NOT_SUPPORTED;
    *mode = static_cast<nvmlGpuVirtualizationMode_t>(device.board->virtualization_mode.value);
    return NVML_SUCCESS;
  });
}

NVML_API(nvmlDeviceGetAddressingMode, nvmlDevice_t handle, nvmlDeviceAddressingMode_v1_t* mode) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (mode == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (mode->version != nvmlDeviceAddressingMode_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return WriteFact(&mode->value, device.board->addressing_mode);
  });
}

NVML_API(nvmlDeviceGetPersistenceMode, nvmlDevice_t handle, nvmlEnableState_t* mode) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    return WriteValue(mode, static_cast<nvmlEnableState_t>(device.state.persistence_mode));
  });
}

NVML_API(nvmlDeviceSetPersistenceMode, nvmlDevice_t handle, unsigned int mode) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (mode > NVML_FEATURE_ENABLED) return NVML_ERROR_INVALID_ARGUMENT;
    return SetWord(device.gpu, &Gpu::persistence_mode, mode);
  });
}

NVML_API(nvmlDeviceGetComputeMode, nvmlDevice_t handle, nvmlComputeMode_t* mode) {
  return DeviceCall(__func__, handle, [&](const Device& device) {
    return WriteValue(mode, static_cast<nvmlComputeMode_t>(device.state.compute_mode));
  });
}

NVML_API(nvmlDeviceSetComputeMode, nvmlDevice_t handle, unsigned int mode) {
  return GpuCall(__func__, handle, [&](const Device& device) {
    if (mode >= NVML_COMPUTEMODE_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
    // Exclusive-thread mode left the driver long ago; exclusive-process and MIG exclude each other.
    if (mode == NVML_COMPUTEMODE_EXCLUSIVE_THREAD) return NVML_ERROR_NOT_SUPPORTED;
    if (mode == NVML_COMPUTEMODE_EXCLUSIVE_PROCESS && device.state.mig_current != 0) {
      return NVML_ERROR_NOT_SUPPORTED;
    }
    return SetWord(device.gpu, &Gpu::compute_mode, mode);
  });
}

NVML_API(nvmlDeviceGetEccMode,
         nvmlDevice_t handle,
         nvmlEnableState_t* current,
         nvmlEnableState_t* pending) {
  return DeviceCall(__func__, handle, [&](const Device& device) {
    if (current == nullptr || pending == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (device.board->ecc.known == 0) return NVML_ERROR_NOT_SUPPORTED;
    *current = static_cast<nvmlEnableState_t>(device.state.ecc_current);
    *pending = static_cast<nvmlEnableState_t>(device.state.ecc_pending);
    return NVML_SUCCESS;
  });
}

}  // namespace partita::sim::nvml
