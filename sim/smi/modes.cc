// -mig, -c and -pm: modes that NVML can set.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "sim/smi/commands.h"
#include "sim/smi/output.h"

namespace partita::sim::smi {
namespace {

constexpr std::array<std::string_view, 4> kSettableModes = {"DEFAULT", "EXCLUSIVE_THREAD",
                                                            "PROHIBITED", "EXCLUSIVE_PROCESS"};

std::optional<bool> ParseSwitch(const std::string& text) {
  const std::string word = base::ToLower(text);
  if (word == "1" || word == "enabled") return true;
  if (word == "0" || word == "disabled") return false;
  return std::nullopt;
}

std::optional<unsigned int> ParseComputeMode(const std::string& text) {
  for (unsigned int i = 0; i < kSettableModes.size(); ++i) {
    if (text == std::to_string(i) || base::ToLower(text) == base::ToLower(kSettableModes[i]))
      return i;
  }
  return std::nullopt;
}

int Refused(std::string_view what, const std::string& value) {
  Say("{} is not a valid value for {}. Please run 'nvidia-smi -h' for help.\n\n",
      base::Quoted(value), what);
  return NVML_ERROR_INVALID_ARGUMENT;
}

int GiveUp(const Nvml& nvml, const std::string& what, const Device& device, nvmlReturn_t code) {
  Say("Unable to {} for GPU {}: {}\nTerminating early due to previous errors.\n", what,
      device.bus_id, nvml.ErrorText(code));
  return code;
}

void SayMigOutcome(const Nvml& nvml, const Device& device, bool enable, nvmlReturn_t activation) {
  if (activation == NVML_SUCCESS) {
    Say("{} MIG Mode for GPU {}\n", enable ? "Enabled" : "Disabled", device.bus_id);
    return;
  }
  Say("Warning: MIG mode is in pending {} state for GPU {}:{}\n", enable ? "enable" : "disable",
      device.bus_id, nvml.ErrorText(activation));
  if (activation == NVML_ERROR_IN_USE) {
    Say("{} is in use: end the processes that use it and try again, or reboot.\n", device.bus_id);
  } else {
    Say("Reboot the system or try nvidia-smi --gpu-reset to make MIG mode effective on GPU {}\n",
        device.bus_id);
  }
}

}  // namespace

int SetMigMode(const Nvml& nvml, const Ids& ids, const std::string& mode) {
  const std::optional<bool> enable = ParseSwitch(mode);
  if (!enable) return Refused("the MIG mode", mode);
  int status = 0;
  const std::optional<std::vector<Device>> devices = SelectDevices(nvml, ids, &status);
  if (!devices) return status;
  const std::string what = *enable ? "enable MIG Mode" : "disable MIG Mode";
  for (const Device& device : *devices) {
    nvmlReturn_t activation = NVML_SUCCESS;
    const nvmlReturn_t set = nvml.nvmlDeviceSetMigMode(
        device.handle, *enable ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE, &activation);
    if (set == NVML_ERROR_NOT_SUPPORTED) {
      Say("Unable to {} for GPU {}: {}\nTreating as warning and moving on.\n", what, device.bus_id,
          nvml.ErrorText(set));
      continue;
    }
    if (set != NVML_SUCCESS) return GiveUp(nvml, what, device, set);
    SayMigOutcome(nvml, device, *enable, activation);
  }
  Say("All done.\n");
  return 0;
}

int SetComputeMode(const Nvml& nvml, const Ids& ids, const std::string& mode) {
  const std::optional<unsigned int> wanted = ParseComputeMode(mode);
  if (!wanted) return Refused("the compute mode", mode);
  int status = 0;
  const std::optional<std::vector<Device>> devices = SelectDevices(nvml, ids, &status);
  if (!devices) return status;
  for (const Device& device : *devices) {
    const auto before = Ask<nvmlComputeMode_t>(nvml.nvmlDeviceGetComputeMode, device.handle);
    if (before && static_cast<unsigned int>(*before) == *wanted) {
      Say("Compute mode is already set to {} for GPU {}.\n", kSettableModes[*wanted],
          device.bus_id);
      continue;
    }
    const nvmlReturn_t set = nvml.nvmlDeviceSetComputeMode(device.handle, *wanted);
    if (set != NVML_SUCCESS) return GiveUp(nvml, "set the compute mode", device, set);
    Say("Set compute mode to {} for GPU {}.\n", kSettableModes[*wanted], device.bus_id);
  }
  Say("All done.\n");
  return 0;
}

int SetPersistenceMode(const Nvml& nvml, const Ids& ids, const std::string& mode) {
  const std::optional<bool> enable = ParseSwitch(mode);
  if (!enable) return Refused("the persistence mode", mode);
  int status = 0;
  const std::optional<std::vector<Device>> devices = SelectDevices(nvml, ids, &status);
  if (!devices) return status;
  const char* word = *enable ? "Enabled" : "Disabled";
  for (const Device& device : *devices) {
    const auto before = Ask<nvmlEnableState_t>(nvml.nvmlDeviceGetPersistenceMode, device.handle);
    if (before && (*before == NVML_FEATURE_ENABLED) == *enable) {
      Say("Persistence mode is already {} for GPU {}.\n", word, device.bus_id);
      continue;
    }
    const nvmlReturn_t set = nvml.nvmlDeviceSetPersistenceMode(
        device.handle, *enable ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED);
    if (set != NVML_SUCCESS) return GiveUp(nvml, "set the persistence mode", device, set);
    Say("{} persistence mode for GPU {}.\n", word, device.bus_id);
  }
  Say("All done.\n");
  return 0;
}

}  // namespace partita::sim::smi
