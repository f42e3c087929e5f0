#include "hw/inventory_reader.h"

#include <utility>
#include <vector>

#include "hw/assemble.h"
#include "hw/merge.h"
#include "hw/sysfs/pci.h"

namespace partita::hw {

std::shared_ptr<nvml::Driver> MakeDriver(const ReaderOptions& options) {
  return std::make_shared<nvml::Driver>(
      nvml::Driver::Options{.search = {.path = options.library, .driver_root = options.driver_root},
                            .call = options.deadline,
                            .attach = options.attach_deadline,
                            .release = options.release_deadline,
                            .lanes = {}});
}

InventoryReader::InventoryReader(std::shared_ptr<nvml::Driver> driver, ReaderOptions options)
    : options_(std::move(options)), driver_(std::move(driver)), nvml_(driver_) {}

InventoryReader::InventoryReader(const ReaderOptions& options)
    : InventoryReader(MakeDriver(options), options) {}

model::Inventory InventoryReader::Read() {
  const base::Result<std::vector<sysfs::PciGpu>> scanned = sysfs::ScanPciGpus(options_.root);
  const auto bus = scanned.ok() ? *scanned : std::vector<sysfs::PciGpu>();
  nvml::Facts facts = nvml_.Read(
      {.gpus = BoundToNvidia(bus), .readings = options_.readings, .only_mig = options_.only_mig});
  model::Inventory inventory = Assemble(options_.root, bus, std::move(facts));
  inventory.generation = ++generation_;
  if (!scanned.ok() && scanned.error().code() != base::ErrorCode::kNotFound) {
    inventory.problems.push_back({"", scanned.error()});
  }
  return inventory;
}

}  // namespace partita::hw
