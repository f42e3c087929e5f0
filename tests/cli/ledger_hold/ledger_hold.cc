// Gives the first MIG device of this node to a pod, in the ledger below a state directory, as the
// device plugin will: for tests of what follows from it. Prints the device's UUID.
//
// Usage: ledger_hold STATE_DIRECTORY NAMESPACE NAME
#include <chrono>
#include <cstdio>
#include <vector>

#include "base/files.h"
#include "service/inventory/reader.h"
#include "service/ledger/ledger.h"

namespace {

using namespace partita;

base::Result<void> Hold(const char* directory, const char* pod_namespace, const char* name) {
  const auto now =
      std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  TRY(boot, base::ReadFile("/proc/sys/kernel/random/boot_id"));
  while (!boot.empty() && boot.back() == '\n') boot.pop_back();
  TRY(opened, service::ledger::Ledger::Open({directory}));
  (void)opened.ledger.Settle(service::inventory::Reader({}).Read(), boot, std::nullopt, now);
  const std::vector<service::ledger::MigDevice> devices =
      service::ledger::OwnMigDevices(opened.ledger.state());
  if (devices.empty()) return base::Error(base::ErrorCode::kNotFound, "no MIG device here");
  const service::ledger::Pod pod{pod_namespace, name, "main", "nvidia.com/gpu"};
  TRY_VOID(opened.ledger.Bind(devices.front(), pod, now));
  std::printf("%s\n", devices.front().uuid.value().c_str());
  return opened.ledger.Flush(now);
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  const base::Result<void> end = Hold(words[1], words[2], words[3]);
  if (!end.ok()) std::fprintf(stderr, "ledger_hold: %s\n", end.error().ToString().c_str());
  return end.ok() ? 0 : 1;
}
