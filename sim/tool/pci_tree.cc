#include "sim/tool/pci_tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/files.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "sim/load/pci_address.h"
#include "sim/tool/pci_device.h"

namespace partita::sim::tool {
namespace {

struct SmallFile {
  std::string name;
  std::string text;
  mode_t mode;
};

base::Result<void> WriteAll(const std::string& directory, const std::vector<SmallFile>& files) {
  TRY_VOID(base::MakeDirectories(directory, 0755));
  for (const SmallFile& file : files) {
    TRY_VOID(base::WriteFile(directory + "/" + file.name, file.text, file.mode));
  }
  return {};
}

// Points `path` at `target`, whatever it was before.
base::Result<void> LinkAnew(const std::string& path, const std::string& target) {
  if (const auto old = base::ReadLink(path); old.ok() && *old == target) return {};
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return base::ErrnoError("remove " + path);
  }
  if (symlink(target.c_str(), path.c_str()) != 0) return base::ErrnoError("link " + path);
  return {};
}

base::Result<void> Unlink(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return base::ErrnoError("remove " + path);
  return {};
}

// "../../../" from a device's directory up to /sys.
std::string UpToSys(const std::string& device_path) {
  std::string up = "../../";  // the device itself and "devices"
  for (const char c : device_path) {
    if (c == '/') up += "../";
  }
  return up;
}

std::string Uevent(const PciDevice& device, std::string_view driver) {
  return fmt::format(
      "{}PCI_CLASS={:X}\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:{:04X}\n"
      "PCI_SLOT_NAME={}\nMODALIAS={}\n",
      driver.empty() ? "" : fmt::format("DRIVER={}\n", driver), device.class_code, device.vendor,
      device.device, device.subsystem_vendor, device.subsystem_device,
      load::FormatPciAddress(device.address), Modalias(device));
}

std::vector<SmallFile> DeviceFiles(const PciDevice& device) {
  std::vector<SmallFile> files = {
      {"vendor", fmt::format("0x{:04x}\n", device.vendor), 0444},
      {"device", fmt::format("0x{:04x}\n", device.device), 0444},
      {"subsystem_vendor", fmt::format("0x{:04x}\n", device.subsystem_vendor), 0444},
      {"subsystem_device", fmt::format("0x{:04x}\n", device.subsystem_device), 0444},
      {"class", fmt::format("0x{:06x}\n", device.class_code), 0444},
      {"revision", fmt::format("0x{:02x}\n", device.revision), 0444},
      {"numa_node", fmt::format("{}\n", device.numa_node), 0644},
      {"local_cpulist", CpuList(device.cpus) + "\n", 0444},
      {"local_cpus", CpuMask(device.cpus) + "\n", 0444},
      {"irq", fmt::format("{}\n", device.irq), 0444},
      {"modalias", Modalias(device) + "\n", 0444},
      {"resource", ResourceText(device), 0444},
      {"config", ConfigSpace(device), 0644},
      {"enable", "1\n", 0644},
      {"msi_bus", "1\n", 0644},
      {"ari_enabled", "0\n", 0444},
      {"broken_parity_status", "0\n", 0644},
      {"d3cold_allowed", "1\n", 0644},
      {"power_state", "D0\n", 0444},
      {"driver_override", "(null)\n", 0644},
      {"remove", "", 0200},
      {"rescan", "", 0200},
  };
  if (!device.bridge) {
    files.push_back({"reset", "", 0200});
    files.push_back({"reset_method", "flr bus\n", 0644});
    files.push_back({"dma_mask_bits", "52\n", 0444});
    files.push_back({"consistent_dma_mask_bits", "52\n", 0444});
  }
  if (device.link_generation != 0 && device.link_width != 0) {
    for (const char* which : {"max", "current"}) {
      files.push_back(
          {fmt::format("{}_link_speed", which), LinkSpeed(device.link_generation) + "\n", 0444});
      files.push_back(
          {fmt::format("{}_link_width", which), fmt::format("{}\n", device.link_width), 0444});
    }
  }
  return files;
}

base::Result<void> MakeDriver(const std::string& sys, std::string_view name) {
  return WriteAll(fmt::format("{}/bus/pci/drivers/{}", sys, name), {{"bind", "", 0200},
                                                                    {"unbind", "", 0200},
                                                                    {"new_id", "", 0200},
                                                                    {"remove_id", "", 0200},
                                                                    {"uevent", "", 0200}});
}

// Both directions of "this device is driven by".
base::Result<void> BindToDriver(const std::string& sys,
                                const std::string& device_path,
                                const PciFunction& address,
                                std::string_view driver) {
  TRY_VOID(MakeDriver(sys, driver));
  const std::string name = load::FormatPciAddress(address);
  TRY_VOID(LinkAnew(fmt::format("{}/devices/{}/driver", sys, device_path),
                    fmt::format("{}bus/pci/drivers/{}", UpToSys(device_path), driver)));
  return LinkAnew(fmt::format("{}/bus/pci/drivers/{}/{}", sys, driver, name),
                  "../../../../devices/" + device_path);
}

std::string_view DriverName(PciDriver driver, bool loaded) {
  switch (driver) {
    case PciDriver::kNvidia: return loaded ? "nvidia" : "";
    case PciDriver::kVfio: return "vfio-pci";
    case PciDriver::kUnbound: return "";
  }
  return "";
}

base::Result<void> RenderGpu(const std::string& sys, const Board& board, std::string_view driver) {
  const std::string path = DevicePath(board);
  const std::string name = load::FormatPciAddress(board.pci);
  for (const std::string_view other : {"nvidia", "vfio-pci"}) {
    if (other != driver)
      TRY_VOID(Unlink(fmt::format("{}/bus/pci/drivers/{}/{}", sys, other, name)));
  }
  if (driver.empty()) {
    TRY_VOID(Unlink(fmt::format("{}/devices/{}/driver", sys, path)));
  } else {
    TRY_VOID(BindToDriver(sys, path, board.pci, driver));
  }
  const std::string uevent = fmt::format("{}/devices/{}/uevent", sys, path);
  TRY(old, base::ReadFile(uevent));
  const std::size_t rest = old.find("PCI_CLASS=");
  const std::string line = driver.empty() ? "" : fmt::format("DRIVER={}\n", driver);
  return base::WriteFile(uevent, line + (rest == std::string::npos ? "" : old.substr(rest)), 0644);
}

// Of a GPU that is off the bus every read gives ones. Vendor and device are what others look at.
base::Result<void> RenderConfig(const std::string& sys, const Board& board, bool lost) {
  const std::string path = fmt::format("{}/devices/{}/config", sys, DevicePath(board));
  const base::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return base::ErrnoError("open " + path);
  const std::uint32_t word = lost ? 0xFFFFFFFF : board.pci_device_id;
  std::array<std::uint8_t, 4> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes.at(i) = static_cast<std::uint8_t>(word >> (8 * i));
  if (pwrite(fd.get(), bytes.data(), bytes.size(), 0) != ssize_t{bytes.size()})
    return base::ErrnoError("write " + path);
  return {};
}

base::Result<void> RenderModules(const std::string& sys, const Machine& machine, bool loaded) {
  const std::string nvidia = sys + "/module/nvidia", uvm = sys + "/module/nvidia_uvm";
  if (!loaded) {
    TRY_VOID(base::RemoveTree(nvidia));
    TRY_VOID(base::RemoveTree(uvm));
    // The driver's directory stays, empty: views have it mounted and could not see it come back.
    return Unlink(sys + "/bus/pci/drivers/nvidia/module");
  }
  const std::string version = fmt::format("{}\n", machine.driver_version);
  TRY_VOID(WriteAll(nvidia, {{"version", version, 0444},
                             {"initstate", "live\n", 0444},
                             {"refcnt", "1\n", 0444},
                             {"taint", "OE\n", 0444}}));
  TRY_VOID(WriteAll(
      uvm, {{"version", version, 0444}, {"initstate", "live\n", 0444}, {"refcnt", "0\n", 0444}}));
  TRY_VOID(MakeDriver(sys, "nvidia"));
  return LinkAnew(sys + "/bus/pci/drivers/nvidia/module", "../../../../module/nvidia");
}

base::Result<void> MakeIommuGroup(const std::string& sys, const Board& board, std::uint32_t group) {
  const std::string path = DevicePath(board);
  const std::string devices = fmt::format("{}/kernel/iommu_groups/{}/devices", sys, group);
  TRY_VOID(base::MakeDirectories(devices, 0755));
  TRY_VOID(
      base::WriteFile(fmt::format("{}/kernel/iommu_groups/{}/type", sys, group), "DMA\n", 0444));
  TRY_VOID(
      LinkAnew(devices + "/" + load::FormatPciAddress(board.pci), "../../../../devices/" + path));
  return LinkAnew(fmt::format("{}/devices/{}/iommu_group", sys, path),
                  fmt::format("{}kernel/iommu_groups/{}", UpToSys(path), group));
}

}  // namespace

base::Result<void> MakePciTree(const std::string& root, const load::LoadedNode& node) {
  const std::string sys = root + "/sys";
  for (const char* directory : {"/bus/pci/devices", "/bus/pci/drivers", "/devices", "/module"}) {
    TRY_VOID(base::MakeDirectories(sys + directory, 0755));
  }
  for (const PciDevice& device : ListPciDevices(node)) {
    const std::string path = DevicePath(device);
    const std::string directory = fmt::format("{}/devices/{}", sys, path);
    TRY_VOID(WriteAll(directory, DeviceFiles(device)));
    TRY_VOID(LinkAnew(directory + "/subsystem", UpToSys(path) + "bus/pci"));
    TRY_VOID(LinkAnew(sys + "/bus/pci/devices/" + load::FormatPciAddress(device.address),
                      "../../../devices/" + path));
    const bool gpu = (device.class_code >> 16) == 0x03;
    const std::string_view driver = gpu ? "" : device.bridge ? "pcieport" : "nvidia-nvswitch";
    TRY_VOID(base::WriteFile(directory + "/uevent", Uevent(device, driver), 0644));
    if (!gpu) TRY_VOID(BindToDriver(sys, path, device.address, driver));
  }
  for (std::size_t i = 0; i < node.iommu_groups.size(); ++i) {
    if (!node.iommu_groups[i]) continue;
    TRY_VOID(MakeIommuGroup(sys, node.machine->boards[i], *node.iommu_groups[i]));
  }
  return RenderDriverLinks(root, *node.machine, *node.slot);
}

base::Result<void> RenderExchangedGpus(const std::string& root, const Machine& machine) {
  for (const PciDevice& device : ListGpus(machine)) {
    const std::string directory = fmt::format("{}/sys/devices/{}", root, DevicePath(device));
    // There only where the board's link is known.
    for (const char* name :
         {"max_link_speed", "max_link_width", "current_link_speed", "current_link_width"}) {
      TRY_VOID(Unlink(fmt::format("{}/{}", directory, name)));
    }
    TRY_VOID(WriteAll(directory, DeviceFiles(device)));
    TRY_VOID(base::WriteFile(directory + "/uevent", Uevent(device, ""), 0644));
  }
  return {};
}

base::Result<void> RenderDriverLinks(const std::string& root,
                                     const Machine& machine,
                                     const Slot& slot) {
  const std::string sys = root + "/sys";
  const bool loaded = slot.driver_loaded != 0;
  for (std::uint32_t i = 0; i < machine.gpu_count; ++i) {
    TRY_VOID(RenderGpu(sys, machine.boards[i], DriverName(slot.gpus[i].pci_driver, loaded)));
  }
  TRY_VOID(RenderPresence(root, machine, slot));
  return RenderModules(sys, machine, loaded);
}

base::Result<void> RenderPresence(const std::string& root,
                                  const Machine& machine,
                                  const Slot& slot) {
  for (std::uint32_t i = 0; i < machine.gpu_count; ++i) {
    TRY_VOID(RenderConfig(root + "/sys", machine.boards[i], slot.gpus[i].lost != 0));
  }
  return {};
}

}  // namespace partita::sim::tool
