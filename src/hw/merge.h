// Puts together what the bus, the driver's files and the driver's library say. Pure.
#pragma once

#include <string>
#include <vector>

#include "hw/nvml/reader.h"
#include "hw/procfs/driver_files.h"
#include "hw/sysfs/pci.h"
#include "model/inventory.h"

namespace partita::hw {

// GPUs on the bus that the driver's library should know.
[[nodiscard]] std::vector<model::PciAddress> BoundToNvidia(const std::vector<sysfs::PciGpu>& bus);

// Fills driver, GPUs, vfio GPUs, links and problems of an inventory. Device nodes, capability
// minors and the names of processes are not part of it.
[[nodiscard]] model::Inventory Merge(const std::vector<sysfs::PciGpu>& bus,
                                     const std::vector<procfs::GpuInformation>& files,
                                     nvml::Facts facts);

// Sets the capability minors of all instances. Instances without one keep none.
void SetAccess(const procfs::CapabilityMinors& minors, model::Inventory& inventory);

}  // namespace partita::hw
