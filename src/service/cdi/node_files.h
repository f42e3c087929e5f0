// One look at everything on this node that specifications are made of, but for what the driver's
// library tells.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/inventory.h"
#include "service/cdi/device_files.h"
#include "service/cdi/driver_files.h"
#include "service/cdi/edits.h"

namespace partita::service::cdi {

struct NodeFilesOptions {
  std::string host_root = "/";    // where this process finds the host
  std::string driver_root = "/";  // where it finds the driver's files
  std::string dev_root;           // where it finds /dev; empty: where the driver's files are
  // As this process finds them; empty: the usual ones.
  std::vector<std::string> library_paths, config_paths;
  FileOptions files;
  enum class Of : std::uint8_t { kDriver, kStorage, kNothing };
  Of of = Of::kDriver;  // which files beside nodes
};

struct NodeFiles {
  DriverFiles driver;
  DeviceFiles devices;
  Places places;  // as the host calls them
};

// The version of the driver's files must be that of the inventory's driver, where it has one.
[[nodiscard]] base::Result<NodeFiles> ReadNodeFiles(const NodeFilesOptions& options,
                                                    const model::Inventory& inventory);

// partita-hook of this installation: beside this program, else where the package has it.
[[nodiscard]] std::string InstalledHook();

}  // namespace partita::service::cdi
