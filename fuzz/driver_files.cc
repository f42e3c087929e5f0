// Any bytes as the driver's files under /proc: whatever they hold, reading them ends and stays
// small.
#include <array>

#include "fuzz/target.h"
#include "hw/procfs/driver_files.h"

FUZZ_TARGET(driver_files) {
  namespace procfs = partita::hw::procfs;
  const std::string_view text = partita::fuzz::AsText(data, size);
  if (const auto module = procfs::ParseVersion(text)) PARTITA_CHECK(!module->version.empty());
  const procfs::GpuInformation gpu = procfs::ParseInformation(text);
  PARTITA_CHECK(gpu.model.size() <= size);
  if (gpu.uuid) PARTITA_CHECK(gpu.uuid->value().size() <= size);
  // An entry needs a line of its own.
  const std::array gpus = {partita::model::DeviceMinor(0), partita::model::DeviceMinor(1)};
  PARTITA_CHECK(procfs::ParseMigMinors(text, gpus).size() <= size);
  PARTITA_CHECK(procfs::ParseDevices(text).size() <= size);
  return 0;
}
