#include "sim/smi/commands.h"
#include "sim/smi/output.h"

namespace partita::sim::smi {

int ListGpus(const Nvml& nvml) {
  int status = 0;
  const std::optional<std::vector<Device>> devices = SelectDevices(nvml, std::nullopt, &status);
  if (!devices) return status;
  for (const Device& device : *devices) {
    Say("GPU {}: {} (UUID: {})\n", device.index,
        AskText(nvml.nvmlDeviceGetName, device.handle).value_or("Unknown"),
        AskText(nvml.nvmlDeviceGetUUID, device.handle).value_or("Unknown"));
    for (const MigDevice& mig : MigDevicesOf(nvml, device.handle)) {
      Say("  MIG {:<12}Device {:>2}: (UUID: {})\n", MigProfileName(nvml, mig.handle), mig.number,
          AskText(nvml.nvmlDeviceGetUUID, mig.handle).value_or("Unknown"));
    }
  }
  return 0;
}

}  // namespace partita::sim::smi
