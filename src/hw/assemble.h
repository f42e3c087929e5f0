// From what the driver's library and the bus say to the inventory of a node.
#pragma once

#include <string>
#include <vector>

#include "hw/nvml/reader.h"
#include "hw/sysfs/pci.h"
#include "model/inventory.h"

namespace partita::hw {

// Adds what files below `root` tell: the driver's own about its GPUs, device nodes, capabilities,
// who a process is and in which container. Read after the library was asked, which wakes GPUs:
// their files then know more of them.
[[nodiscard]] model::Inventory Assemble(const std::string& root,
                                        const std::vector<sysfs::PciGpu>& bus,
                                        nvml::Facts facts);

}  // namespace partita::hw
