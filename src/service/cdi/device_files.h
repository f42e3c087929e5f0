// The device nodes of a node, as they are. Nothing is opened.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/root_dir.h"
#include "model/inventory.h"
#include "service/cdi/driver_files.h"

namespace partita::service::cdi {

struct DeviceFiles {
  // Character devices by path inside the dev root: the driver's own, DRM, IMEX channels, and what
  // goes with GPUs.
  std::map<std::string, base::FileFacts> nodes;
  std::map<model::PciAddress, std::vector<std::string>> drm;  // names as in /dev/dri, sorted
  std::vector<Link> by_path;     // links of /dev/dri/by-path: text and path
  std::uint32_t caps_major = 0;  // of nvidia-caps; 0: this driver has none
};

// `dev_root` holds /dev, `host_root` /proc and /sys.
[[nodiscard]] DeviceFiles ReadDeviceFiles(const base::RootDir& dev_root,
                                          const std::string& host_root,
                                          const model::Inventory& inventory);

}  // namespace partita::service::cdi
