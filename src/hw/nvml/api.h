// NVML's functions as found in one loaded library. A function that this library does not have is
// absent, and calling it answers FUNCTION_NOT_FOUND: one feature less, not a failure.
#pragma once

#include <chrono>
#include <utility>

#include "hw/nvml/abi.h"
#include "hw/nvml/call_watch.h"

namespace partita::hw::nvml {

// In place of the id of a GPU or compute instance: there is none.
inline constexpr unsigned kNoInstance = 0xFFFFFFFF;

// Finds symbols in what dlopen returned.
class Symbols {
 public:
  explicit Symbols(void* handle) : handle_(handle) {}
  [[nodiscard]] void* Find(const char* name) const;

 private:
  void* handle_;
};

template <typename Signature>
class Function {
 public:
  Function(const Symbols& symbols, const char* name)
      : name_(name), pointer_(reinterpret_cast<Signature*>(symbols.Find(name))) {}
  [[nodiscard]] const char* name() const { return name_; }
  [[nodiscard]] Signature* pointer() const { return pointer_; }

 private:
  const char* name_;
  Signature* pointer_;
};

// NOLINTBEGIN(bugprone-macro-parentheses): both are names
#define PARTITA_NVML_FUNCTION(member, symbol) \
  Function<decltype(nvml##symbol)> member { symbols, "nvml" #symbol }
// NOLINTEND(bugprone-macro-parentheses)

// One member per function of abi.h, named after it.
struct Api {
  explicit Api(const Symbols& its_symbols) : symbols(its_symbols) {}
  Symbols symbols;  // first: the members below are found through it

  PARTITA_NVML_FUNCTION(init, Init_v2);
  PARTITA_NVML_FUNCTION(shutdown, Shutdown);
  PARTITA_NVML_FUNCTION(driver_version, SystemGetDriverVersion);
  PARTITA_NVML_FUNCTION(nvml_version, SystemGetNVMLVersion);
  PARTITA_NVML_FUNCTION(cuda_version, SystemGetCudaDriverVersion);
  PARTITA_NVML_FUNCTION(process_name, SystemGetProcessName);

  PARTITA_NVML_FUNCTION(device_count, DeviceGetCount_v2);
  PARTITA_NVML_FUNCTION(device_by_index, DeviceGetHandleByIndex_v2);
  PARTITA_NVML_FUNCTION(device_by_bus_id, DeviceGetHandleByPciBusId_v2);
  PARTITA_NVML_FUNCTION(name, DeviceGetName);
  PARTITA_NVML_FUNCTION(uuid, DeviceGetUUID);
  PARTITA_NVML_FUNCTION(serial, DeviceGetSerial);
  PARTITA_NVML_FUNCTION(part_number, DeviceGetBoardPartNumber);
  PARTITA_NVML_FUNCTION(vbios, DeviceGetVbiosVersion);
  PARTITA_NVML_FUNCTION(index, DeviceGetIndex);
  PARTITA_NVML_FUNCTION(minor, DeviceGetMinorNumber);
  PARTITA_NVML_FUNCTION(pci, DeviceGetPciInfo_v3);
  PARTITA_NVML_FUNCTION(module_id, DeviceGetModuleId);
  PARTITA_NVML_FUNCTION(irq, DeviceGetIrqNum);
  PARTITA_NVML_FUNCTION(brand, DeviceGetBrand);
  PARTITA_NVML_FUNCTION(architecture, DeviceGetArchitecture);
  PARTITA_NVML_FUNCTION(compute_capability, DeviceGetCudaComputeCapability);
  PARTITA_NVML_FUNCTION(cores, DeviceGetNumGpuCores);
  PARTITA_NVML_FUNCTION(memory, DeviceGetMemoryInfo);
  PARTITA_NVML_FUNCTION(memory_v2, DeviceGetMemoryInfo_v2);
  PARTITA_NVML_FUNCTION(bar1, DeviceGetBAR1MemoryInfo);
  PARTITA_NVML_FUNCTION(pcie_generation, DeviceGetCurrPcieLinkGeneration);
  PARTITA_NVML_FUNCTION(pcie_width, DeviceGetCurrPcieLinkWidth);
  PARTITA_NVML_FUNCTION(pcie_generation_max, DeviceGetMaxPcieLinkGeneration);
  PARTITA_NVML_FUNCTION(pcie_width_max, DeviceGetMaxPcieLinkWidth);

  PARTITA_NVML_FUNCTION(persistence_mode, DeviceGetPersistenceMode);
  PARTITA_NVML_FUNCTION(compute_mode, DeviceGetComputeMode);
  PARTITA_NVML_FUNCTION(set_compute_mode, DeviceSetComputeMode);
  PARTITA_NVML_FUNCTION(ecc_mode, DeviceGetEccMode);
  PARTITA_NVML_FUNCTION(ecc_errors, DeviceGetTotalEccErrors);
  PARTITA_NVML_FUNCTION(remapped_rows, DeviceGetRemappedRows);
  PARTITA_NVML_FUNCTION(addressing_mode, DeviceGetAddressingMode);
  PARTITA_NVML_FUNCTION(virtualization_mode, DeviceGetVirtualizationMode);
  PARTITA_NVML_FUNCTION(fabric, DeviceGetGpuFabricInfo);

  PARTITA_NVML_FUNCTION(utilization, DeviceGetUtilizationRates);
  PARTITA_NVML_FUNCTION(temperature, DeviceGetTemperature);
  PARTITA_NVML_FUNCTION(power, DeviceGetPowerUsage);
  PARTITA_NVML_FUNCTION(power_limit, DeviceGetEnforcedPowerLimit);
  PARTITA_NVML_FUNCTION(clock, DeviceGetClockInfo);
  PARTITA_NVML_FUNCTION(performance_state, DeviceGetPerformanceState);
  PARTITA_NVML_FUNCTION(field_values, DeviceGetFieldValues);
  PARTITA_NVML_FUNCTION(event_set_create, EventSetCreate);
  PARTITA_NVML_FUNCTION(event_set_free, EventSetFree);
  PARTITA_NVML_FUNCTION(event_set_wait, EventSetWait_v2);
  PARTITA_NVML_FUNCTION(supported_events, DeviceGetSupportedEventTypes);
  PARTITA_NVML_FUNCTION(register_events, DeviceRegisterEvents);
  PARTITA_NVML_FUNCTION(system_event_set_create, SystemEventSetCreate);
  PARTITA_NVML_FUNCTION(system_event_set_free, SystemEventSetFree);
  PARTITA_NVML_FUNCTION(register_system_events, SystemRegisterEvents);
  PARTITA_NVML_FUNCTION(system_event_set_wait, SystemEventSetWait);
  PARTITA_NVML_FUNCTION(compute_processes_v1, DeviceGetComputeRunningProcesses);
  PARTITA_NVML_FUNCTION(compute_processes_v2, DeviceGetComputeRunningProcesses_v2);
  PARTITA_NVML_FUNCTION(compute_processes_v3, DeviceGetComputeRunningProcesses_v3);
  PARTITA_NVML_FUNCTION(graphics_processes_v1, DeviceGetGraphicsRunningProcesses);
  PARTITA_NVML_FUNCTION(graphics_processes_v2, DeviceGetGraphicsRunningProcesses_v2);
  PARTITA_NVML_FUNCTION(graphics_processes_v3, DeviceGetGraphicsRunningProcesses_v3);
  PARTITA_NVML_FUNCTION(mps_processes_v1, DeviceGetMPSComputeRunningProcesses);
  PARTITA_NVML_FUNCTION(mps_processes_v2, DeviceGetMPSComputeRunningProcesses_v2);
  PARTITA_NVML_FUNCTION(mps_processes_v3, DeviceGetMPSComputeRunningProcesses_v3);

  PARTITA_NVML_FUNCTION(common_ancestor, DeviceGetTopologyCommonAncestor);
  PARTITA_NVML_FUNCTION(nvlink_state, DeviceGetNvLinkState);
  PARTITA_NVML_FUNCTION(nvlink_remote_type, DeviceGetNvLinkRemoteDeviceType);
  PARTITA_NVML_FUNCTION(nvlink_remote_pci, DeviceGetNvLinkRemotePciInfo_v2);

  PARTITA_NVML_FUNCTION(mig_mode, DeviceGetMigMode);
  PARTITA_NVML_FUNCTION(set_mig_mode, DeviceSetMigMode);
  PARTITA_NVML_FUNCTION(gi_profile, DeviceGetGpuInstanceProfileInfo);
  PARTITA_NVML_FUNCTION(gi_profile_v, DeviceGetGpuInstanceProfileInfoV);
  PARTITA_NVML_FUNCTION(gi_placements, DeviceGetGpuInstancePossiblePlacements_v2);
  PARTITA_NVML_FUNCTION(gi_remaining, DeviceGetGpuInstanceRemainingCapacity);
  PARTITA_NVML_FUNCTION(gpu_instances, DeviceGetGpuInstances);
  PARTITA_NVML_FUNCTION(gi_by_id, DeviceGetGpuInstanceById);
  PARTITA_NVML_FUNCTION(create_gi, DeviceCreateGpuInstanceWithPlacement);
  PARTITA_NVML_FUNCTION(destroy_gi, GpuInstanceDestroy);
  PARTITA_NVML_FUNCTION(gi_info, GpuInstanceGetInfo);
  PARTITA_NVML_FUNCTION(ci_profile, GpuInstanceGetComputeInstanceProfileInfo);
  PARTITA_NVML_FUNCTION(ci_placements, GpuInstanceGetComputeInstancePossiblePlacements);
  PARTITA_NVML_FUNCTION(compute_instances, GpuInstanceGetComputeInstances);
  PARTITA_NVML_FUNCTION(ci_by_id, GpuInstanceGetComputeInstanceById);
  PARTITA_NVML_FUNCTION(create_ci, GpuInstanceCreateComputeInstance);
  PARTITA_NVML_FUNCTION(create_ci_at, GpuInstanceCreateComputeInstanceWithPlacement);
  PARTITA_NVML_FUNCTION(destroy_ci, ComputeInstanceDestroy);
  PARTITA_NVML_FUNCTION(ci_info, ComputeInstanceGetInfo_v2);
};

#undef PARTITA_NVML_FUNCTION

// Makes calls in a job of the driver, each under its watch.
class Caller {
 public:
  Caller(const Api& its_api, CallWatch& watch) : api(its_api), watch_(watch) {}

  template <typename... Parameters, typename... Arguments>
  nvmlReturn_t operator()(const Function<nvmlReturn_t(Parameters...)>& function,
                          Arguments&&... arguments) {
    if (function.pointer() == nullptr) return NVML_ERROR_FUNCTION_NOT_FOUND;
    if (!watch_.Enter(function.name())) return kGivenUp;
    const nvmlReturn_t code = function.pointer()(std::forward<Arguments>(arguments)...);
    watch_.Leave();
    return code;
  }

  // The same with a limit of its own.
  template <typename... Parameters, typename... Arguments>
  nvmlReturn_t Within(std::chrono::nanoseconds limit,
                      const Function<nvmlReturn_t(Parameters...)>& function,
                      Arguments&&... arguments) {
    if (function.pointer() == nullptr) return NVML_ERROR_FUNCTION_NOT_FOUND;
    if (!watch_.Enter(function.name(), limit)) return kGivenUp;
    const nvmlReturn_t code = function.pointer()(std::forward<Arguments>(arguments)...);
    watch_.Leave();
    return code;
  }

  // No code of NVML: the job was abandoned and nothing was called.
  static constexpr nvmlReturn_t kGivenUp = -1;

  const Api& api;

 private:
  CallWatch& watch_;
};

}  // namespace partita::hw::nvml
