// What the PCI files of one simulated device say, as text and bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/load/node_file.h"
#include "sim/state/layout.h"

namespace partita::sim::tool {

struct PciBar {
  std::uint64_t address = 0;
  std::uint64_t size = 0;  // 0: the register is not used
  bool wide = false;       // 64 bits, prefetchable; the next register is its upper half
};

struct PciDevice {
  PciFunction address;
  std::vector<PciFunction> bridges;  // above it, root port first
  std::uint16_t vendor = 0, device = 0, subsystem_vendor = 0, subsystem_device = 0;
  std::uint32_t class_code = 0;  // 0x030200
  std::uint8_t revision = 0;
  bool bridge = false;
  std::uint8_t secondary_bus = 0, subordinate_bus = 0;  // of a bridge
  std::uint32_t link_generation = 0, link_width = 0;    // 0: not known
  std::uint32_t irq = 0;
  std::int32_t numa_node = -1;
  std::vector<std::uint64_t> cpus;  // bit mask, 64 CPUs a word
  std::vector<PciBar> bars;         // at most six
};

// In index order.
[[nodiscard]] std::vector<PciDevice> ListGpus(const Machine& machine);
// GPUs in index order, then bridges and NVSwitches by address.
[[nodiscard]] std::vector<PciDevice> ListPciDevices(const load::LoadedNode& node);

// "0000:00:01.0/0000:01:00.0/0000:07:00.0" below "/sys/devices/pci0000:00/".
[[nodiscard]] std::string DevicePath(const PciDevice& device);
[[nodiscard]] std::string DevicePath(const Board& board);

// The first 256 bytes of configuration space: a consistent header, power management, MSI and
// PCI Express capabilities.
[[nodiscard]] std::string ConfigSpace(const PciDevice& device);
// Seven lines of three hex words, as the kernel prints them.
[[nodiscard]] std::string ResourceText(const PciDevice& device);
[[nodiscard]] std::string Modalias(const PciDevice& device);
// "0-63,128-191", "ffffffff,ffffffff".
[[nodiscard]] std::string CpuList(const std::vector<std::uint64_t>& cpus);
[[nodiscard]] std::string CpuMask(const std::vector<std::uint64_t>& cpus);
// "32.0 GT/s PCIe"; "" for an unknown generation.
[[nodiscard]] std::string LinkSpeed(std::uint32_t generation);

}  // namespace partita::sim::tool
