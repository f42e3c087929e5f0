#include "service/cdi/device_files.h"

#include <utility>

#include <fmt/format.h>

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

}  // namespace

DeviceFiles ReadDeviceFiles(const base::RootDir& dev_root,
                            const std::string& host_root,
                            const model::Inventory& inventory) {
  DeviceFiles files;
  for (const std::string_view pattern : kNodes) {
    for (const std::string& path : dev_root.Glob(pattern)) {
      const Result<base::FileFacts> facts = dev_root.Look(path);
      if (facts.ok() && facts->IsCharDevice()) files.nodes.emplace(path, *facts);
    }
  }
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
  const Result<hw::procfs::Majors> majors = hw::procfs::ReadMajors(host_root);
  if (majors.ok()) {
    const auto caps = majors->find("nvidia-caps");
    if (caps != majors->end()) files.caps_major = caps->second;
  }
  return files;
}

}  // namespace partita::service::cdi
