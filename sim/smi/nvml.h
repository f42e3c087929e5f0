// The driver library as this tool sees it: opened at run time like by any client.
#pragma once

#include <string>
#include <string_view>

#include "sim/nvml/nvml_calls.h"

// Every call that the tool makes. A library without one of them is not used.
#define PARTITA_SMI_CALLS(X)                             \
  X(nvmlInit_v2)                                         \
  X(nvmlShutdown)                                        \
  X(nvmlErrorString)                                     \
  X(nvmlSystemGetDriverVersion)                          \
  X(nvmlSystemGetCudaDriverVersion_v2)                   \
  X(nvmlSystemGetProcessName)                            \
  X(nvmlDeviceGetCount_v2)                               \
  X(nvmlDeviceGetHandleByIndex_v2)                       \
  X(nvmlDeviceGetHandleByUUID)                           \
  X(nvmlDeviceGetHandleByPciBusId_v2)                    \
  X(nvmlDeviceGetHandleBySerial)                         \
  X(nvmlDeviceGetIndex)                                  \
  X(nvmlDeviceGetName)                                   \
  X(nvmlDeviceGetUUID)                                   \
  X(nvmlDeviceGetSerial)                                 \
  X(nvmlDeviceGetVbiosVersion)                           \
  X(nvmlDeviceGetPciInfo_v3)                             \
  X(nvmlDeviceGetCudaComputeCapability)                  \
  X(nvmlDeviceGetPersistenceMode)                        \
  X(nvmlDeviceSetPersistenceMode)                        \
  X(nvmlDeviceGetComputeMode)                            \
  X(nvmlDeviceSetComputeMode)                            \
  X(nvmlDeviceGetEccMode)                                \
  X(nvmlDeviceGetTotalEccErrors)                         \
  X(nvmlDeviceGetMemoryInfo_v2)                          \
  X(nvmlDeviceGetMemoryInfo)                             \
  X(nvmlDeviceGetBAR1MemoryInfo)                         \
  X(nvmlDeviceGetUtilizationRates)                       \
  X(nvmlDeviceGetTemperature)                            \
  X(nvmlDeviceGetFanSpeed)                               \
  X(nvmlDeviceGetPowerUsage)                             \
  X(nvmlDeviceGetEnforcedPowerLimit)                     \
  X(nvmlDeviceGetPerformanceState)                       \
  X(nvmlDeviceGetClockInfo)                              \
  X(nvmlDeviceGetComputeRunningProcesses_v2)             \
  X(nvmlDeviceGetGraphicsRunningProcesses_v2)            \
  X(nvmlDeviceGetMPSComputeRunningProcesses_v2)          \
  X(nvmlDeviceGetMigMode)                                \
  X(nvmlDeviceSetMigMode)                                \
  X(nvmlDeviceGetMaxMigDeviceCount)                      \
  X(nvmlDeviceGetMigDeviceHandleByIndex)                 \
  X(nvmlDeviceGetGpuInstanceId)                          \
  X(nvmlDeviceGetComputeInstanceId)                      \
  X(nvmlDeviceGetAttributes_v2)                          \
  X(nvmlDeviceGetGpuInstanceProfileInfo)                 \
  X(nvmlDeviceGetGpuInstanceProfileInfoV)                \
  X(nvmlDeviceGetGpuInstancePossiblePlacements_v2)       \
  X(nvmlDeviceGetGpuInstanceRemainingCapacity)           \
  X(nvmlDeviceCreateGpuInstance)                         \
  X(nvmlDeviceCreateGpuInstanceWithPlacement)            \
  X(nvmlGpuInstanceDestroy)                              \
  X(nvmlDeviceGetGpuInstances)                           \
  X(nvmlGpuInstanceGetInfo)                              \
  X(nvmlGpuInstanceGetComputeInstanceProfileInfo)        \
  X(nvmlGpuInstanceGetComputeInstanceProfileInfoV)       \
  X(nvmlGpuInstanceGetComputeInstanceRemainingCapacity)  \
  X(nvmlGpuInstanceGetComputeInstancePossiblePlacements) \
  X(nvmlGpuInstanceCreateComputeInstance)                \
  X(nvmlGpuInstanceCreateComputeInstanceWithPlacement)   \
  X(nvmlComputeInstanceDestroy)                          \
  X(nvmlGpuInstanceGetComputeInstances)                  \
  X(nvmlComputeInstanceGetInfo_v2)

namespace partita::sim::smi {

// One pointer per call, under the call's own name: `nvml.nvmlDeviceGetName(…)`.
struct Nvml {
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a member takes none.
#define PARTITA_SMI_POINTER(name) decltype(&::name) name = nullptr;
  PARTITA_SMI_CALLS(PARTITA_SMI_POINTER)
#undef PARTITA_SMI_POINTER

  // "Not Supported", as the library words it.
  [[nodiscard]] std::string ErrorText(nvmlReturn_t code) const { return nvmlErrorString(code); }
};

// Looks for libnvidia-ml.so.1 by name, then beside this program (a driver root without a loader
// configuration). False: there is none, or it lacks a call. What came with driver 510 may be
// lacking: then the pointer leads to the older call.
[[nodiscard]] bool LoadNvml(Nvml* nvml);

// Where the state of the node is: PARTITA_SIM_STATE, else above the loaded library, else the place
// that is bound inside a node.
[[nodiscard]] std::string StatePath(const Nvml& nvml);

}  // namespace partita::sim::smi
