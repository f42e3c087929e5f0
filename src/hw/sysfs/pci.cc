#include "hw/sysfs/pci.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace partita::hw::sysfs {
namespace {

constexpr std::uint64_t kNvidia = 0x10de;
constexpr std::uint64_t kVgaController = 0x0300;
constexpr std::uint64_t k3dController = 0x0302;

// "0x10de\n"
std::optional<std::uint64_t> ReadHex(const std::string& path) {
  const base::Result<std::string> text = base::ReadFile(path);
  if (!text.ok()) return std::nullopt;
  const std::optional<std::string_view> digits = base::WithoutPrefix(base::Trim(*text), "0x");
  return digits ? base::ParseUnsigned(*digits, 16) : std::nullopt;
}

std::optional<std::int64_t> ReadNumber(const std::string& path) {
  const base::Result<std::string> text = base::ReadFile(path);
  return text.ok() ? base::ParseInteger(base::Trim(*text)) : std::nullopt;
}

// The last part of what a link points to: a driver's name, a group's number.
std::string ReadLinkName(const std::string& path) {
  const base::Result<std::string> target = base::ReadLink(path);
  if (!target.ok()) return "";
  return target->substr(target->rfind('/') + 1);
}

// "../../../devices/pci0000:00/0000:00:01.0/0000:07:00.0": the bridges are the addresses before the
// last.
std::vector<model::PciAddress> BridgesOf(std::string_view link) {
  std::vector<model::PciAddress> bridges;
  for (const std::string_view part : base::Split(link, '/')) {
    const base::Result<model::PciAddress> address = model::PciAddress::Parse(part);
    if (address.ok()) bridges.push_back(*address);
  }
  if (!bridges.empty()) bridges.pop_back();
  return bridges;
}

bool IsGpu(const std::string& device) {
  if (ReadHex(base::JoinPath(device, "vendor")) != kNvidia) return false;
  const std::optional<std::uint64_t> device_class = ReadHex(base::JoinPath(device, "class"));
  if (!device_class) return false;
  const std::uint64_t kind = *device_class >> 8U;  // the last byte is the programming interface
  if (kind != kVgaController && kind != k3dController) return false;
  return !base::Exists(base::JoinPath(device, "physfn"));
}

std::uint32_t Id(std::uint64_t device, std::uint64_t vendor) {
  return static_cast<std::uint32_t>((device & 0xFFFFU) << 16U | (vendor & 0xFFFFU));
}

PciGpu ReadGpu(const std::string& device, const model::PciAddress& pci) {
  const auto file = [&device](std::string_view name) { return base::JoinPath(device, name); };
  PciGpu gpu;
  gpu.pci = pci;
  gpu.device_id = Id(ReadHex(file("device")).value_or(0), kNvidia);
  const std::optional<std::uint64_t> vendor = ReadHex(file("subsystem_vendor"));
  const std::optional<std::uint64_t> subsystem = ReadHex(file("subsystem_device"));
  if (vendor && subsystem) gpu.subsystem_id = Id(*subsystem, *vendor);
  gpu.driver = ReadLinkName(file("driver"));
  // -1: the platform does not say.
  const std::optional<std::int64_t> node = ReadNumber(file("numa_node"));
  if (node && *node >= 0 && *node <= std::numeric_limits<int>::max()) {
    gpu.numa_node = static_cast<int>(*node);
  }
  const std::optional<std::uint64_t> group = base::ParseUnsigned(ReadLinkName(file("iommu_group")));
  if (group) gpu.iommu_group = static_cast<std::uint32_t>(*group);
  // 0: no interrupt is set up.
  const std::optional<std::int64_t> irq = ReadNumber(file("irq"));
  if (irq && *irq > 0) gpu.irq = static_cast<std::uint32_t>(*irq);
  if (const base::Result<std::string> link = base::ReadLink(device); link.ok()) {
    gpu.path = BridgesOf(*link);
  }
  return gpu;
}

}  // namespace

base::Result<std::vector<PciGpu>> ScanPciGpus(const std::string& root) {
  const std::string directory = base::JoinPath(root, "sys/bus/pci/devices");
  TRY(names, base::ListDirectory(directory));
  std::vector<PciGpu> gpus;
  for (const std::string& name : names) {
    const base::Result<model::PciAddress> pci = model::PciAddress::Parse(name);
    const std::string device = base::JoinPath(directory, name);
    if (pci.ok() && IsGpu(device)) gpus.push_back(ReadGpu(device, *pci));
  }
  std::sort(gpus.begin(), gpus.end(),
            [](const PciGpu& a, const PciGpu& b) { return a.pci < b.pci; });
  return gpus;
}

}  // namespace partita::hw::sysfs
