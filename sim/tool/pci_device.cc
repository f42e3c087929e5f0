#include "sim/tool/pci_device.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/core.h>

#include "sim/load/pci_address.h"

namespace partita::sim::tool {
namespace {

constexpr std::uint64_t kBarUnit = 1 << 20;
constexpr std::uint64_t kLowMemory = 0xA000'0000,
                        kHighMemory = 0x200'0000'0000;  // where BARs begin
// A root port of an emulator: what bridges these are is not known, and they should not pretend.
constexpr std::uint16_t kBridgeVendor = 0x1B36, kBridgeDevice = 0x000C;
constexpr std::uint8_t kNvidiaRevision =
    0xA1;  // of every board and NVSwitch in the lspci listings that data/products name

// Hands out addresses that do not overlap, aligned to their size as a BIOS does.
class AddressSpace {
 public:
  explicit AddressSpace(std::uint64_t start) : next_(start) {}
  std::uint64_t Take(std::uint64_t size) {
    const std::uint64_t at = (next_ + size - 1) / size * size;
    next_ = at + size;
    return at;
  }

 private:
  std::uint64_t next_;
};

PciDevice DescribeGpu(const Board& board, AddressSpace& low, AddressSpace& high) {
  PciDevice out;
  out.address = board.pci;
  out.bridges.assign(board.bridges, board.bridges + board.bridge_count);
  out.vendor = static_cast<std::uint16_t>(board.pci_device_id & 0xFFFF);
  out.device = static_cast<std::uint16_t>(board.pci_device_id >> 16);
  out.subsystem_vendor = static_cast<std::uint16_t>(board.pci_subsystem_id & 0xFFFF);
  out.subsystem_device = static_cast<std::uint16_t>(board.pci_subsystem_id >> 16);
  out.class_code = board.pci_class;
  out.revision = kNvidiaRevision;
  out.link_generation = board.pcie_generation.known != 0 ? board.pcie_generation.value : 0;
  out.link_width = board.pcie_width.known != 0 ? board.pcie_width.value : 0;
  out.irq = board.irq.known != 0 ? board.irq.value : 0;
  out.numa_node = board.numa_node;
  out.cpus.assign(std::begin(board.cpu_affinity), std::end(board.cpu_affinity));
  const std::uint64_t bar1 = board.bar1_total.known != 0 ? board.bar1_total.value : 256 * kBarUnit;
  out.bars = {{low.Take(16 * kBarUnit), 16 * kBarUnit, false},
              {high.Take(bar1), bar1, true},
              {},
              {high.Take(32 * kBarUnit), 32 * kBarUnit, true}};
  return out;
}

std::vector<PciDevice> DescribeGpus(const Machine& machine, AddressSpace& low) {
  AddressSpace high(kHighMemory);
  std::vector<PciDevice> devices;
  for (std::uint32_t i = 0; i < machine.gpu_count; ++i) {
    devices.push_back(DescribeGpu(machine.boards[i], low, high));
  }
  return devices;
}

PciDevice DescribeSwitch(const PciFunction& address, std::uint32_t id, AddressSpace& low) {
  PciDevice out;
  out.address = address;
  out.vendor = static_cast<std::uint16_t>(id & 0xFFFF);
  out.device = static_cast<std::uint16_t>(id >> 16);
  out.class_code = 0x068000;
  out.revision = kNvidiaRevision;
  out.bars = {{low.Take(32 * kBarUnit), 32 * kBarUnit, false}};
  return out;
}

PciDevice DescribeBridge(const Board& board, std::uint32_t position) {
  PciDevice out;
  out.address = board.bridges[position];
  out.bridges.assign(board.bridges, board.bridges + position);
  out.vendor = kBridgeVendor;
  out.device = kBridgeDevice;
  out.class_code = 0x060400;
  out.bridge = true;
  out.numa_node = board.numa_node;
  out.cpus.assign(std::begin(board.cpu_affinity), std::end(board.cpu_affinity));
  return out;
}

// The buses below a bridge: from the next device's bus to the highest one under it.
void AddBelow(const Board& board, std::uint32_t position, PciDevice& bridge) {
  const PciFunction& next =
      position + 1 < board.bridge_count ? board.bridges[position + 1] : board.pci;
  const auto first = static_cast<std::uint8_t>(next.bus);
  const auto last = static_cast<std::uint8_t>(board.pci.bus);
  if (bridge.secondary_bus == 0 || first < bridge.secondary_bus) bridge.secondary_bus = first;
  bridge.subordinate_bus = std::max(bridge.subordinate_bus, last);
}

std::string PathOf(const std::vector<PciFunction>& bridges, const PciFunction& address) {
  std::string path = load::RootBusName(bridges.empty() ? address : bridges.front());
  for (const PciFunction& bridge : bridges) path += "/" + load::FormatPciAddress(bridge);
  return path + "/" + load::FormatPciAddress(address);
}

// Little-endian fields of configuration space.
class Bytes {
 public:
  void Put(std::size_t at, std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) {
      bytes_[at + i] = static_cast<char>((value >> (8 * i)) & 0xFF);
    }
  }
  [[nodiscard]] std::string text() const { return {bytes_.begin(), bytes_.end()}; }

 private:
  std::array<char, 256> bytes_{};
};

void PutBars(const PciDevice& device, Bytes& bytes) {
  for (std::size_t i = 0; i < device.bars.size(); ++i) {
    const PciBar& bar = device.bars[i];
    if (bar.size == 0) continue;
    bytes.Put(0x10 + 4 * i, bar.address | (bar.wide ? 0xC : 0x0), 4);
    if (bar.wide) bytes.Put(0x14 + 4 * i, bar.address >> 32, 4);
  }
}

void PutCapabilities(const PciDevice& device, Bytes& bytes) {
  bytes.Put(0x34, 0x60, 1);
  bytes.Put(0x60, 0x01, 1);  // power management, version 3
  bytes.Put(0x61, 0x68, 1);
  bytes.Put(0x62, 0x0003, 2);
  bytes.Put(0x68, 0x05, 1);  // MSI, 64-bit addresses
  bytes.Put(0x69, 0x78, 1);
  bytes.Put(0x6A, 0x0080, 2);
  bytes.Put(0x78, 0x10, 1);  // PCI Express: endpoint or root port, version 2
  bytes.Put(0x7A, device.bridge ? 0x0042 : 0x0002, 2);
  const std::uint32_t generation = device.link_generation == 0 ? 1 : device.link_generation;
  const std::uint32_t width = device.link_width == 0 ? 1 : device.link_width;
  bytes.Put(0x78 + 0x0C, generation | (width << 4), 4);  // link capabilities
  bytes.Put(0x78 + 0x12, generation | (width << 4), 2);  // link status
}

}  // namespace

std::vector<PciDevice> ListGpus(const Machine& machine) {
  AddressSpace low(kLowMemory);
  return DescribeGpus(machine, low);
}

std::vector<PciDevice> ListPciDevices(const load::LoadedNode& node) {
  const Machine& machine = *node.machine;
  AddressSpace low(kLowMemory);
  std::vector<PciDevice> devices = DescribeGpus(machine, low);
  std::map<std::string, PciDevice> others;  // by address
  for (std::uint32_t i = 0; i < machine.gpu_count; ++i) {
    const Board& board = machine.boards[i];
    for (std::uint32_t j = 0; j < board.bridge_count; ++j) {
      const auto [bridge, fresh] =
          others.emplace(load::FormatPciAddress(board.bridges[j]), DescribeBridge(board, j));
      AddBelow(board, j, bridge->second);
    }
  }
  for (std::uint32_t i = 0; i < machine.switch_count; ++i) {
    others.emplace(load::FormatPciAddress(machine.switches[i]),
                   DescribeSwitch(machine.switches[i], node.switch_device_id, low));
  }
  for (auto& other : others) devices.push_back(std::move(other.second));
  return devices;
}

std::string DevicePath(const PciDevice& device) { return PathOf(device.bridges, device.address); }

std::string DevicePath(const Board& board) {
  return PathOf({board.bridges, board.bridges + board.bridge_count}, board.pci);
}

std::string ConfigSpace(const PciDevice& device) {
  Bytes bytes;
  bytes.Put(0x00, device.vendor, 2);
  bytes.Put(0x02, device.device, 2);
  bytes.Put(0x04, 0x0406, 2);  // memory, bus master, no legacy interrupt
  bytes.Put(0x06, 0x0010, 2);  // has capabilities
  bytes.Put(0x08, device.revision, 1);
  bytes.Put(0x09, device.class_code, 3);
  bytes.Put(0x0E, device.bridge ? 1 : 0, 1);
  if (device.bridge) {
    bytes.Put(0x18, device.address.bus, 1);
    bytes.Put(0x19, device.secondary_bus, 1);
    bytes.Put(0x1A, device.subordinate_bus, 1);
  } else {
    PutBars(device, bytes);
    bytes.Put(0x2C, device.subsystem_vendor, 2);
    bytes.Put(0x2E, device.subsystem_device, 2);
    bytes.Put(0x3C, device.irq & 0xFF, 1);
    bytes.Put(0x3D, 1, 1);
  }
  PutCapabilities(device, bytes);
  return bytes.text();
}

std::string ResourceText(const PciDevice& device) {
  constexpr std::uint64_t kNarrowFlags = 0x40200, kWideFlags = 0x14220C;
  std::string text;
  for (std::size_t i = 0; i < 7; ++i) {
    const PciBar bar = i < device.bars.size() ? device.bars[i] : PciBar{};
    const bool used = bar.size != 0;
    text += fmt::format("{:#018x} {:#018x} {:#018x}\n", bar.address,
                        used ? bar.address + bar.size - 1 : 0,
                        used ? (bar.wide ? kWideFlags : kNarrowFlags) : 0);
  }
  return text;
}

std::string Modalias(const PciDevice& device) {
  return fmt::format("pci:v{:08X}d{:08X}sv{:08X}sd{:08X}bc{:02X}sc{:02X}i{:02X}", device.vendor,
                     device.device, device.subsystem_vendor, device.subsystem_device,
                     device.class_code >> 16, (device.class_code >> 8) & 0xFF,
                     device.class_code & 0xFF);
}

std::string CpuList(const std::vector<std::uint64_t>& cpus) {
  std::string text;
  const std::size_t count = cpus.size() * 64;
  const auto has = [&](std::size_t cpu) {
    return cpu < count && ((cpus[cpu / 64] >> (cpu % 64)) & 1) != 0;
  };
  for (std::size_t first = 0; first < count; ++first) {
    if (!has(first)) continue;
    std::size_t last = first;
    while (has(last + 1)) ++last;
    if (!text.empty()) text += ",";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    first = last;
  }
  return text;
}

std::string CpuMask(const std::vector<std::uint64_t>& cpus) {
  std::string text;
  bool leading = true;
  for (std::size_t i = cpus.size(); i-- > 0;) {
    for (const int shift : {32, 0}) {
      const auto half = static_cast<std::uint32_t>((cpus[i] >> shift) & 0xFFFFFFFF);
      if (leading && half == 0 && (i > 0 || shift != 0)) continue;
      text += leading ? fmt::format("{:08x}", half) : fmt::format(",{:08x}", half);
      leading = false;
    }
  }
  return text.empty() ? "00000000" : text;
}

std::string LinkSpeed(std::uint32_t generation) {
  static constexpr std::array kSpeeds = {"",
                                         "2.5 GT/s PCIe",
                                         "5.0 GT/s PCIe",
                                         "8.0 GT/s PCIe",
                                         "16.0 GT/s PCIe",
                                         "32.0 GT/s PCIe",
                                         "64.0 GT/s PCIe"};
  return generation < kSpeeds.size() ? kSpeeds[generation] : "";
}

}  // namespace partita::sim::tool
