// The files by which containers get this node's GPUs, brought up to date once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/inventory.h"
#include "service/cdi/edits.h"
#include "service/cdi/features.h"
#include "service/cdi/generate.h"

namespace partita::agent {

struct CdiOptions {
  std::string host_root = "/", driver_root = "/";
  std::string dev_root{};       // empty: the driver's
  std::string directory{};      // "/var/run/cdi"
  std::string run_directory{};  // of devices.json
  std::string hook_path{};      // as the host calls it
  std::string version_max{};    // empty: what engines of today read, 0.7.0
  bool management = false;      // also management.nvidia.com/gpu
  service::cdi::Features features{};
  // Also the devices as the device plugin names them, by UUID or by index; absent: not. With what
  // else containers are to get.
  std::optional<service::cdi::Naming> plugin_naming{};
  std::vector<service::cdi::Mode> plugin_modes{};
  bool operator==(const CdiOptions&) const = default;
};

struct CdiOutcome {
  std::uint64_t generation = 0;  // of the inventory that it is of
  std::size_t devices = 0;       // in nvidia.yaml
  bool written = false;          // a file became another
  // Of plugin_modes, the classes that there are files of: "gds".
  std::vector<std::string> plugin_classes;
  std::vector<std::string> news;  // what was left out, and warnings
  std::string left;               // the files as they were left: LookAtCdi
  // Why a file is not of this inventory: the one before is still there.
  std::optional<base::Error> problem;
};

// nvidia.yaml, k8s.device-plugin.nvidia.com-gpu.json, management.nvidia.com-gpu.yaml and
// devices.json; each is the old one or the new one at every moment. A GPU that cannot be described
// is left out of it; without any the old file stays. A management file that was written here and is
// no longer wanted goes; the device plugin's stays, since kubelet gives what it once answered to
// containers that start again. Blocks on files only.
[[nodiscard]] CdiOutcome PublishCdi(const CdiOptions& options, const model::Inventory& inventory);

// Which files engines and partita-hook find there now, in a text that is another as soon as one
// comes, goes or changes. A few calls of stat: nothing is opened.
[[nodiscard]] std::string LookAtCdi(const CdiOptions& options);

}  // namespace partita::agent
