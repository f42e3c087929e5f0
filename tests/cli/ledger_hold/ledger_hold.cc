// Gives the first MIG device of this node, or the GPU of that index as a whole, to a pod, in the
// ledger below a state directory, as the device plugin does: for tests of what follows from it.
// Prints the device's UUID.
//
// Usage: ledger_hold STATE_DIRECTORY NAMESPACE NAME [GPU]
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/files.h"
#include "service/inventory/reader.h"
#include "service/ledger/ledger.h"

namespace {

using namespace partita;

using service::ledger::Device;

base::Result<Device> DeviceOf(const service::ledger::State& state,
                              const model::Inventory& node,
                              const char* gpu) {
  if (gpu != nullptr) {
    for (const model::Gpu& each : node.gpus)
      if (each.uuid && each.index && std::to_string(each.index->value()) == gpu)
        return Device(service::ledger::WholeGpu{*each.uuid, each.pci});
    return base::Error(base::ErrorCode::kNotFound, "no such GPU here");
  }
  const std::vector<service::ledger::MigDevice> devices = service::ledger::OwnMigDevices(state);
  if (devices.empty()) return base::Error(base::ErrorCode::kNotFound, "no MIG device here");
  return Device(devices.front());
}

base::Result<void> Hold(const char* directory,
                        const char* pod_namespace,
                        const char* name,
                        const char* gpu) {
  const auto now =
      std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  TRY(boot, base::ReadFile("/proc/sys/kernel/random/boot_id"));
  while (!boot.empty() && boot.back() == '\n') boot.pop_back();
  TRY(opened, service::ledger::Ledger::Open({directory}));
  const model::Inventory node = service::inventory::Reader({}).Read();
  (void)opened.ledger.Settle(node, boot, std::nullopt, now);
  TRY(device, DeviceOf(opened.ledger.state(), node, gpu));
  const service::ledger::Pod pod{pod_namespace, name, "main", "nvidia.com/gpu"};
  TRY_VOID(opened.ledger.Bind(device, pod, now));
  const service::ledger::MigDevice* mig = service::ledger::MigPart(device);
  std::printf("%s\n", mig != nullptr ? mig->uuid.value().c_str() : KeyOf(device).c_str());
  return opened.ledger.Flush(now);
}

}  // namespace

int main(int count, char** words) {
  if (count != 4 && count != 5) return 2;
  const base::Result<void> end =
      Hold(words[1], words[2], words[3], count == 5 ? words[4] : nullptr);
  if (!end.ok()) std::fprintf(stderr, "ledger_hold: %s\n", end.error().ToString().c_str());
  return end.ok() ? 0 : 1;
}
