#include "hw/sysfs/pci.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace partita::hw::sysfs {
namespace {

constexpr std::uint64_t kNvidia = 0x10de;
constexpr std::uint64_t kVgaController = 0x0300;
constexpr std::uint64_t k3dController = 0x0302;

constexpr int kFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;

// A file of one line. Empty: it cannot be read, or is longer than any number.
struct ShortText {
  std::array<char, 64> bytes;
  std::size_t size = 0;
  [[nodiscard]] std::string_view view() const { return {bytes.data(), size}; }
};

ShortText ReadShort(int directory, const char* path) {
  ShortText text;
  const base::UniqueFd fd(openat(directory, path, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return text;
  // One read: sysfs gives such a file as a whole.
  const ssize_t count = read(fd.get(), text.bytes.data(), text.bytes.size());
  if (count > 0 && static_cast<std::size_t>(count) < text.bytes.size()) {
    text.size = static_cast<std::size_t>(count);
  }
  return text;
}

std::optional<std::uint64_t> ParseHex(const ShortText& text) {
  const std::optional<std::string_view> digits = base::WithoutPrefix(base::Trim(text.view()), "0x");
  return digits ? base::ParseUnsigned(*digits, 16) : std::nullopt;
}

// The files of one device. Relative to an open directory: on the bus every device is a link, which
// the kernel would follow anew for each file.
class DeviceFiles {
 public:
  explicit DeviceFiles(base::UniqueFd directory) : directory_(std::move(directory)) {}

  // "0x10de\n"
  [[nodiscard]] std::optional<std::uint64_t> Hex(const char* name) const {
    return ParseHex(ReadShort(directory_.get(), name));
  }

  [[nodiscard]] std::optional<std::int64_t> Number(const char* name) const {
    return base::ParseInteger(base::Trim(ReadShort(directory_.get(), name).view()));
  }

  // The last part of what a link points to: a driver's name, a group's number.
  [[nodiscard]] std::string LinkName(const char* name) const {
    std::array<char, PATH_MAX> target;
    const ssize_t length = readlinkat(directory_.get(), name, target.data(), target.size());
    if (length < 0) return "";
    const std::string_view text(target.data(), static_cast<std::size_t>(length));
    return std::string(text.substr(text.rfind('/') + 1));
  }

  // True for a link too, wherever it points.
  [[nodiscard]] bool Has(const char* name) const {
    struct stat about {};
    return fstatat(directory_.get(), name, &about, AT_SYMLINK_NOFOLLOW) == 0;
  }

 private:
  base::UniqueFd directory_;
};

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

bool IsNvidias(int bus, const std::string& name) {
  return ParseHex(ReadShort(bus, (name + "/vendor").c_str())) == kNvidia;
}

// The class of a GPU; nothing where it is something else.
std::optional<std::uint32_t> GpuClass(const DeviceFiles& device) {
  const std::optional<std::uint64_t> device_class = device.Hex("class");
  if (!device_class) return std::nullopt;
  const std::uint64_t kind = *device_class >> 8U;  // the last byte is the programming interface
  if (kind != kVgaController && kind != k3dController) return std::nullopt;
  if (device.Has("physfn")) return std::nullopt;
  return static_cast<std::uint32_t>(*device_class);
}

std::uint32_t Id(std::uint64_t device, std::uint64_t vendor) {
  return static_cast<std::uint32_t>((device & 0xFFFFU) << 16U | (vendor & 0xFFFFU));
}

PciGpu ReadGpu(const DeviceFiles& device, const model::PciAddress& pci, std::uint32_t pci_class) {
  PciGpu gpu;
  gpu.pci = pci;
  gpu.pci_class = pci_class;
  gpu.device_id = Id(device.Hex("device").value_or(0), kNvidia);
  const std::optional<std::uint64_t> vendor = device.Hex("subsystem_vendor");
  const std::optional<std::uint64_t> subsystem = device.Hex("subsystem_device");
  if (vendor && subsystem) gpu.subsystem_id = Id(*subsystem, *vendor);
  gpu.driver = device.LinkName("driver");
  // -1: the platform does not say.
  const std::optional<std::int64_t> node = device.Number("numa_node");
  if (node && *node >= 0 && *node <= std::numeric_limits<int>::max()) {
    gpu.numa_node = static_cast<int>(*node);
  }
  const std::optional<std::uint64_t> group = base::ParseUnsigned(device.LinkName("iommu_group"));
  if (group) gpu.iommu_group = static_cast<std::uint32_t>(*group);
  // 0: no interrupt is set up.
  const std::optional<std::int64_t> irq = device.Number("irq");
  if (irq && *irq > 0) gpu.irq = static_cast<std::uint32_t>(*irq);
  return gpu;
}

}  // namespace

base::Result<std::vector<PciGpu>> ScanPciGpus(const std::string& root) {
  const std::string directory = base::JoinPath(root, "sys/bus/pci/devices");
  TRY(names, base::ListDirectory(directory));
  const base::UniqueFd bus(open(directory.c_str(), kFolder));
  if (!bus.valid()) return base::ErrnoError(fmt::format("open directory {}", directory));
  std::vector<PciGpu> gpus;
  for (const std::string& name : names) {
    // Most devices of a machine are somebody else's: one file says so.
    if (!IsNvidias(bus.get(), name)) continue;
    const base::Result<model::PciAddress> pci = model::PciAddress::Parse(name);
    const DeviceFiles device(base::UniqueFd(openat(bus.get(), name.c_str(), kFolder)));
    if (!pci.ok()) continue;
    const std::optional<std::uint32_t> pci_class = GpuClass(device);
    if (!pci_class) continue;
    PciGpu gpu = ReadGpu(device, *pci, *pci_class);
    if (const base::Result<std::string> link = base::ReadLink(base::JoinPath(directory, name));
        link.ok()) {
      gpu.path = BridgesOf(*link);
    }
    gpus.push_back(std::move(gpu));
  }
  std::sort(gpus.begin(), gpus.end(),
            [](const PciGpu& a, const PciGpu& b) { return a.pci < b.pci; });
  return gpus;
}

std::vector<std::string> DrmNodes(const std::string& root, const model::PciAddress& pci) {
  const std::string folder = fmt::format("/sys/bus/pci/devices/{}/drm", pci.ToString());
  base::Result<std::vector<std::string>> names = base::ListDirectory(base::JoinPath(root, folder));
  return names.ok() ? *std::move(names) : std::vector<std::string>();
}

}  // namespace partita::hw::sysfs
