#include "sim/smi/devices.h"

#include <algorithm>

#include "base/text.h"
#include "sim/smi/output.h"

namespace partita::sim::smi {
namespace {

constexpr unsigned int kNoInstance = 0xFFFFFFFF;

using Listing = decltype(&::nvmlDeviceGetComputeRunningProcesses_v2);

nvmlReturn_t FindHandle(const Nvml& nvml, const std::string& id, nvmlDevice_t* handle) {
  // Inside "-i 0" and "-i 00000000:07:00.0" both begin with digits; only an index is all digits. A
  // serial is too, so it is tried when there is no such index.
  if (const auto index = base::ParseUnsigned(id); index && *index < 0xFFFFFFFF) {
    const nvmlReturn_t found =
        nvml.nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned int>(*index), handle);
    if (found != NVML_ERROR_INVALID_ARGUMENT) return found;
    return nvml.nvmlDeviceGetHandleBySerial(id.c_str(), handle);
  }
  if (id.starts_with("GPU-")) return nvml.nvmlDeviceGetHandleByUUID(id.c_str(), handle);
  return nvml.nvmlDeviceGetHandleByPciBusId_v2(id.c_str(), handle);
}

std::vector<std::string> AllIndices(const Nvml& nvml) {
  std::vector<std::string> ids;
  const unsigned int count = Ask<unsigned int>(nvml.nvmlDeviceGetCount_v2).value_or(0);
  for (unsigned int i = 0; i < count; ++i) ids.push_back(std::to_string(i));
  return ids;
}

void AddProcesses(const Nvml& nvml,
                  nvmlDevice_t device,
                  Listing listing,
                  const char* type,
                  std::vector<Process>& processes) {
  unsigned int count = 0;
  nvmlReturn_t answer = listing(device, &count, nullptr);
  std::vector<nvmlProcessInfo_v2_t> found;
  // The list can grow between the two calls.
  while (answer == NVML_ERROR_INSUFFICIENT_SIZE) {
    found.resize(count);
    answer = listing(device, &count, found.data());
  }
  if (answer != NVML_SUCCESS) return;
  found.resize(std::min<std::size_t>(count, found.size()));
  for (const nvmlProcessInfo_v2_t& each : found) {
    Process process{each.pid, type, "", std::nullopt, std::nullopt, std::nullopt};
    char name[256] = "";
    nvml.nvmlSystemGetProcessName(each.pid, name, sizeof name);
    process.name = name;
    if (each.usedGpuMemory != static_cast<unsigned long long>(NVML_VALUE_NOT_AVAILABLE))
      process.memory = each.usedGpuMemory;
    if (each.gpuInstanceId != kNoInstance) process.gpu_instance = each.gpuInstanceId;
    if (each.computeInstanceId != kNoInstance) process.compute_instance = each.computeInstanceId;
    // A client of MPS is in the list of compute processes too, and is shown once.
    const auto known = std::find_if(processes.begin(), processes.end(), [&](const Process& one) {
      return one.pid == process.pid && one.gpu_instance == process.gpu_instance &&
             one.compute_instance == process.compute_instance && one.type == "C" &&
             process.type == "M+C";
    });
    if (known != processes.end()) {
      known->type = type;
    } else {
      processes.push_back(std::move(process));
    }
  }
}

}  // namespace

std::optional<std::vector<Device>> SelectDevices(const Nvml& nvml,
                                                 const std::optional<std::string>& ids,
                                                 int* status) {
  std::vector<std::string> wanted;
  if (ids) {
    for (const std::string_view id : base::Split(*ids, ',')) wanted.emplace_back(base::Trim(id));
  } else {
    wanted = AllIndices(nvml);
  }
  std::vector<Device> devices;
  for (const std::string& id : wanted) {
    Device device;
    const nvmlReturn_t found = FindHandle(nvml, id, &device.handle);
    if (found == NVML_ERROR_NOT_FOUND || found == NVML_ERROR_INVALID_ARGUMENT) continue;
    nvmlPciInfo_t pci = {};
    if (found == NVML_SUCCESS) nvml.nvmlDeviceGetPciInfo_v3(device.handle, &pci);
    if (found != NVML_SUCCESS) {
      Say("Unable to determine the device handle for GPU {}: {}\n", id, nvml.ErrorText(found));
      *status = found;
      return std::nullopt;
    }
    device.bus_id = pci.busId;
    device.index = Ask<unsigned int>(nvml.nvmlDeviceGetIndex, device.handle).value_or(0);
    devices.push_back(std::move(device));
  }
  std::sort(devices.begin(), devices.end(),
            [](const Device& a, const Device& b) { return a.index < b.index; });
  devices.erase(std::unique(devices.begin(), devices.end(),
                            [](const Device& a, const Device& b) { return a.index == b.index; }),
                devices.end());
  if (devices.empty()) {
    Say("No devices were found\n");
    *status = NVML_ERROR_NOT_FOUND;
    return std::nullopt;
  }
  return devices;
}

std::optional<MigMode> AskMigMode(const Nvml& nvml, nvmlDevice_t device) {
  unsigned int current = 0;
  unsigned int pending = 0;
  if (nvml.nvmlDeviceGetMigMode(device, &current, &pending) != NVML_SUCCESS) return std::nullopt;
  return MigMode{current == NVML_DEVICE_MIG_ENABLE, pending == NVML_DEVICE_MIG_ENABLE};
}

std::vector<MigDevice> MigDevicesOf(const Nvml& nvml, nvmlDevice_t device) {
  std::vector<MigDevice> devices;
  const auto most = Ask<unsigned int>(nvml.nvmlDeviceGetMaxMigDeviceCount, device).value_or(0);
  for (unsigned int i = 0; i < most; ++i) {
    MigDevice mig;
    mig.number = i;
    if (nvml.nvmlDeviceGetMigDeviceHandleByIndex(device, i, &mig.handle) != NVML_SUCCESS) continue;
    mig.gpu_instance = Ask<unsigned int>(nvml.nvmlDeviceGetGpuInstanceId, mig.handle).value_or(0);
    mig.compute_instance =
        Ask<unsigned int>(nvml.nvmlDeviceGetComputeInstanceId, mig.handle).value_or(0);
    devices.push_back(mig);
  }
  return devices;
}

std::string MigProfileName(const Nvml& nvml, nvmlDevice_t mig_device) {
  const std::string name = AskText(nvml.nvmlDeviceGetName, mig_device).value_or("");
  const std::size_t at = name.rfind("MIG ");
  return at == std::string::npos ? name : name.substr(at + 4);
}

std::vector<Process> ProcessesOf(const Nvml& nvml, nvmlDevice_t device) {
  std::vector<Process> processes;
  AddProcesses(nvml, device, nvml.nvmlDeviceGetGraphicsRunningProcesses_v2, "G", processes);
  AddProcesses(nvml, device, nvml.nvmlDeviceGetComputeRunningProcesses_v2, "C", processes);
  AddProcesses(nvml, device, nvml.nvmlDeviceGetMPSComputeRunningProcesses_v2, "M+C", processes);
  return processes;
}

}  // namespace partita::sim::smi
