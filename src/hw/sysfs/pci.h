// NVIDIA GPUs on the PCI bus, whichever driver has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/ids.h"

namespace partita::hw::sysfs {

struct PciGpu {
  model::PciAddress pci;
  std::uint32_t device_id = 0;  // (device << 16) | vendor
  std::uint32_t subsystem_id = 0;
  std::uint32_t pci_class = 0;  // 0x030200
  std::string driver;           // "nvidia", "vfio-pci"; empty: none
  std::optional<int> numa_node;
  std::optional<std::uint32_t> iommu_group;
  std::optional<std::uint32_t> irq;
  std::vector<model::PciAddress> path;  // bridges from the root port down
  bool operator==(const PciGpu&) const = default;
};

// Display and 3D controllers of NVIDIA below `root`, by address; virtual functions are left out. A
// device whose files cannot be read is left out too, since it may be leaving the bus. Fails only if
// the bus cannot be listed.
[[nodiscard]] base::Result<std::vector<PciGpu>> ScanPciGpus(const std::string& root);

// Names of the DRM nodes of a PCI function ("card0", "renderD128"), sorted; empty where no driver
// makes any.
[[nodiscard]] std::vector<std::string> DrmNodes(const std::string& root,
                                                const model::PciAddress& pci);

}  // namespace partita::hw::sysfs
