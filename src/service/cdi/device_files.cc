#include "service/cdi/device_files.h"

#include <sys/sysmacros.h>

#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "hw/procfs/driver_files.h"
#include "hw/sysfs/pci.h"

namespace partita::service::cdi {

namespace {

using base::Result;

constexpr std::string_view kNodes[] = {
    "/dev/nvidia*", "/dev/nvidia-caps/nvidia-cap*", "/dev/nvidia-caps-imex-channels/channel*",
    "/dev/dri/*",   "/dev/infiniband/uverbs*",      "/dev/infiniband/rdma_cm",
    "/dev/gdrdrv",
};

// Whose device a node is: the driver's names in /proc/devices (the first was called nvidia-frontend
// before driver 550), and its minor, which is the number in the name where there is one.
struct Family {
  std::string_view begins;
  bool numbered;
  std::array<std::string_view, 2> names;
  std::uint32_t minor;  // of one without a number
};
constexpr std::array kFamilies = {
    Family{"/dev/nvidia-caps/nvidia-cap", true, {"nvidia-caps", ""}, 0},
    Family{"/dev/nvidia-uvm", false, {"nvidia-uvm", ""}, 0},
    Family{"/dev/nvidia-uvm-tools", false, {"nvidia-uvm", ""}, 1},
    Family{"/dev/nvidiactl", false, {"nvidia", "nvidia-frontend"}, 255},
    Family{"/dev/nvidia-modeset", false, {"nvidia", "nvidia-frontend"}, 254},
    Family{"/dev/nvidia", true, {"nvidia", "nvidia-frontend"}, 0},
};

// The minor that a node of this family has by its name; nothing: it is none of them.
std::optional<std::uint64_t> MinorOf(const Family& family, std::string_view path) {
  const std::optional<std::string_view> rest = base::WithoutPrefix(path, family.begins);
  if (!rest) return std::nullopt;
  if (family.numbered) return base::ParseUnsigned(*rest);
  return rest->empty() ? std::optional<std::uint64_t>(family.minor) : std::nullopt;
}

// What a node is where it is not the driver's device of that name. Where the driver has registered
// nothing of the kind, nobody can say.
std::optional<std::string> WhyForeign(const std::string& path,
                                      dev_t device,
                                      const hw::procfs::Majors& majors) {
  for (const Family& family : kFamilies) {
    const std::optional<std::uint64_t> number = MinorOf(family, path);
    if (!number) continue;
    std::optional<std::uint32_t> registered;
    for (const std::string_view name : family.names) {
      const auto [first, last] = majors.equal_range(std::string(name));
      for (auto entry = first; entry != last; ++entry) {
        registered = entry->second;
        if (entry->second == major(device) && *number == minor(device)) return std::nullopt;
      }
    }
    if (!registered) return std::nullopt;
    return fmt::format("is device {}:{}, not the driver's {}:{}", major(device), minor(device),
                       *registered, *number);
  }
  return std::nullopt;
}

void AddNodes(const base::RootDir& dev_root, const hw::procfs::Majors& majors, DeviceFiles& files) {
  for (const std::string_view pattern : kNodes) {
    for (const std::string& path : dev_root.Glob(pattern)) {
      const Result<base::FileFacts> facts = dev_root.Look(path);
      if (!facts.ok() || !facts->IsCharDevice()) continue;
      if (std::optional<std::string> why = WhyForeign(path, facts->device, majors))
        files.foreign.emplace(path, *std::move(why));
      else
        files.nodes.emplace(path, *facts);
    }
  }
}

}  // namespace

DeviceFiles ReadDeviceFiles(const base::RootDir& dev_root,
                            const std::string& host_root,
                            const model::Inventory& inventory) {
  DeviceFiles files;
  const Result<hw::procfs::Majors> read = hw::procfs::ReadMajors(host_root);
  const hw::procfs::Majors majors = read.ok() ? *read : hw::procfs::Majors();
  AddNodes(dev_root, majors, files);
  for (const model::Gpu& gpu : inventory.gpus) {
    std::vector<std::string> names = hw::sysfs::DrmNodes(host_root, gpu.pci);
    if (names.empty()) continue;
    files.drm.emplace(gpu.pci, std::move(names));
    for (const std::string_view what : {"card", "render"}) {
      std::string link = fmt::format("/dev/dri/by-path/pci-{}-{}", gpu.pci.ToString(), what);
      Result<std::string> target = dev_root.ReadLink(link);
      if (target.ok()) files.by_path.push_back({*std::move(target), std::move(link)});
    }
  }
  const auto caps = majors.find("nvidia-caps");
  if (caps != majors.end()) files.caps_major = caps->second;
  const auto gpus = hw::procfs::ReadGpus(host_root);
  if (!gpus.ok()) return files;
  for (const hw::procfs::GpuInformation& gpu : *gpus) {
    if (gpu.excluded) files.excluded.insert(gpu.pci);
  }
  return files;
}

}  // namespace partita::service::cdi
