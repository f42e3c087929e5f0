// The device nodes of a node, as they are. Nothing is opened.
#pragma once

#include <cstdint>
#include <map>
#include <set>
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
  // Nodes that bear a name of the driver's and stand for another device, with what they are. They
  // are handed out to nobody, so they are not among `nodes`.
  std::map<std::string, std::string> foreign;
  std::map<model::PciAddress, std::vector<std::string>> drm;  // names as in /dev/dri, sorted
  std::vector<Link> by_path;     // links of /dev/dri/by-path: text and path
  std::uint32_t caps_major = 0;  // of nvidia-caps; 0: this driver has none
  // GPUs that the driver was told to leave alone: its library does not list them.
  std::set<model::PciAddress> excluded;
};

// `dev_root` holds /dev, `host_root` /proc and /sys.
[[nodiscard]] DeviceFiles ReadDeviceFiles(const base::RootDir& dev_root,
                                          const std::string& host_root,
                                          const model::Inventory& inventory);

}  // namespace partita::service::cdi
