// Who uses a GPU, in three generations of structs.

#include <stdlib.h>

#include "sim/nvml/api.h"
#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/observation.h"

namespace partita::sim::nvml {
namespace {

// A client of MPS is a compute process too, and both calls list it. Graphics stands alone.
bool IsListed(HolderKind kind, unsigned int mode) {
  switch (mode) {
    case NVML_PROCESS_MODE_COMPUTE: return kind != HolderKind::kGraphics;
    case NVML_PROCESS_MODE_GRAPHICS: return kind == HolderKind::kGraphics;
    case NVML_PROCESS_MODE_MPS: return kind == HolderKind::kMps;
    default: return true;
  }
}

void Fill(const Process& process, nvmlProcessInfo_v1_t* out) {
  out->pid = process.pid;
  out->usedGpuMemory = process.holder.memory_bytes;
}

void Fill(const Process& process, nvmlProcessInfo_v2_t* out) {
  out->pid = process.pid;
  out->usedGpuMemory = process.holder.memory_bytes;
  out->gpuInstanceId = process.holder.gpu_instance;
  out->computeInstanceId = process.holder.compute_instance;
}

void Fill(const Process& process, nvmlProcessDetail_v1_t* out) {
  out->pid = process.pid;
  out->usedGpuMemory = process.holder.memory_bytes;
  out->gpuInstanceId = process.holder.gpu_instance;
  out->computeInstanceId = process.holder.compute_instance;
  out->usedGpuCcProtectedMemory = 0;
}

// Protocol A. `*count` is the capacity, then what there is; too little room is an error that says
// how much is needed, and an empty answer needs no array.
template <class Entry>
nvmlReturn_t WriteProcesses(const Device& device,
                            unsigned int mode,
                            unsigned int* count,
                            Entry* entries) {
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  ProcessList all;
  ListProcesses(device, &all);
  unsigned int needed = 0;
  for (uint32_t i = 0; i < all.count; ++i) {
    const Process& process = all.processes[i];
    // A process of another PID namespace has no number here that its caller could use.
    if (process.pid == 0 || !IsListed(process.holder.kind, mode)) continue;
    if (needed < *count && entries != nullptr) Fill(process, &entries[needed]);
    ++needed;
  }
  const unsigned int capacity = *count;
  if (needed <= capacity && needed > 0 && entries == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *count = needed;
  return needed > capacity ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

template <class Entry>
nvmlReturn_t RunningProcesses(const char* function,
                              nvmlDevice_t handle,
                              unsigned int mode,
                              unsigned int* count,
                              Entry* entries) {
  return DeviceCall(function, handle, [&](const Device& device) {
    return WriteProcesses(device, mode, count, entries);
  });
}

// Drivers 535.43 to 535.86 write the record that has confidential memory under the name _v3, longer
// than before and after (nvitop #79).
bool WritesLongRecords() {
  char* rest = nullptr;
  const unsigned long branch = strtoul(TheMachine().driver_version, &rest, 10);
  const unsigned long release = *rest == '.' ? strtoul(rest + 1, nullptr, 10) : 0;
  return branch == 535 && release < 98;
}

nvmlReturn_t RunningProcessesV3(const char* function,
                                nvmlDevice_t handle,
                                unsigned int mode,
                                unsigned int* count,
                                nvmlProcessInfo_t* entries) {
  return DeviceCall(function, handle, [&](const Device& device) {
    if (!WritesLongRecords()) return WriteProcesses(device, mode, count, entries);
    return WriteProcesses(device, mode, count, reinterpret_cast<nvmlProcessDetail_v1_t*>(entries));
  });
}

}  // namespace

NVML_API(nvmlDeviceGetComputeRunningProcesses,
         nvmlDevice_t handle,
         unsigned int* count,
         nvmlProcessInfo_v1_t* processes) {
  return RunningProcesses(__func__, handle, NVML_PROCESS_MODE_COMPUTE, count, processes);
}

NVML_API(nvmlDeviceGetComputeRunningProcesses_v2,
         nvmlDevice_t handle,
         unsigned int* count,
         nvmlProcessInfo_v2_t* processes) {
  return RunningProcesses(__func__, handle, NVML_PROCESS_MODE_COMPUTE, count, processes);
}

NVML_API(nvmlDeviceGetComputeRunningProcesses_v3,
         nvmlDevice_t handle,
         unsigned int* count,
         nvmlProcessInfo_t* processes) {
  return RunningProcessesV3(__func__, handle, NVML_PROCESS_MODE_COMPUTE, count, processes);
}

NVML_API(nvmlDeviceGetGraphicsRunningProcesses,
         nvmlDevice_t handle,
         unsigned int* count,
         nvmlProcessInfo_v1_t* processes) {
  return RunningProcesses(__func__, handle, NVML_PROCESS_MODE_GRAPHICS, count, processes);
}

NVML_API(nvmlDeviceGetGraphicsRunningProcesses_v2,
         nvmlDevice_t handle,
         unsigned int* count,
         nvmlProcessInfo_v2_t* processes) {
  return RunningProcesses(__func__, handle, NVML_PROCESS_MODE_GRAPHICS, count, processes);
}

NVML_API(nvmlDeviceGetGraphicsRunningProcesses_v3,
         nvmlDevice_t handle,
         unsigned int* count,
         nvmlProcessInfo_t* processes) {
  return RunningProcessesV3(__func__, handle, NVML_PROCESS_MODE_GRAPHICS, count, processes);
}

NVML_API(nvmlDeviceGetMPSComputeRunningProcesses,
         nvmlDevice_t handle,
         unsigned int* count,
         nvmlProcessInfo_v1_t* processes) {
  return RunningProcesses(__func__, handle, NVML_PROCESS_MODE_MPS, count, processes);
}

NVML_API(nvmlDeviceGetMPSComputeRunningProcesses_v2,
         nvmlDevice_t handle,
         unsigned int* count,
         nvmlProcessInfo_v2_t* processes) {
  return RunningProcesses(__func__, handle, NVML_PROCESS_MODE_MPS, count, processes);
}

NVML_API(nvmlDeviceGetMPSComputeRunningProcesses_v3,
         nvmlDevice_t handle,
         unsigned int* count,
         nvmlProcessInfo_t* processes) {
  return RunningProcessesV3(__func__, handle, NVML_PROCESS_MODE_MPS, count, processes);
}

NVML_API(nvmlDeviceGetRunningProcessDetailList,
         nvmlDevice_t handle,
         nvmlProcessDetailList_v1_t* list) {
  return DeviceCall(__func__, handle, [&](const Device& device) {
    if (list == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (list->version != nvmlProcessDetailList_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (list->mode >= NVML_PROCESS_MODE_MAX) return NVML_ERROR_INVALID_ARGUMENT;
    return WriteProcesses(device, list->mode, &list->numProcArrayEntries, list->procArray);
  });
}

}  // namespace partita::sim::nvml
