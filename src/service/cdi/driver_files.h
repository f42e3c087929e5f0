// The driver's files that a container needs, found below its root.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/node_devices.h"
#include "service/cdi/driver_root.h"

namespace partita::service::cdi {

// A link to make in a container: `link` with the text `target`.
struct Link {
  std::string target, link;
  bool operator==(const Link&) const = default;
};

struct DriverFiles {
  std::string version;                           // that the driver and its libraries agree on
  std::vector<std::string> library_directories;  // inside the root, in the order of discovery
  std::vector<partita::cdi::DriverFile> driver, graphics;
  std::vector<partita::cdi::DriverFile> legacy;  // not for CDI: 32-bit libraries and their like
  std::vector<Link> driver_links, graphics_links;
  std::vector<std::string> warnings;
};

struct FileOptions {
  bool explicit_libraries = false;  // also libraries without the driver's version
  bool ipc = true;                  // sockets
  bool mps_directory = true;        // the agent's specs never: MPS reaches a container otherwise
};

// `version` is what the driver says of itself; empty: what the libraries say. kConflict where they
// say something else, kNotFound where there is no library.
[[nodiscard]] base::Result<DriverFiles> ReadDriverFiles(const DriverRoot& driver,
                                                        const Search& search,
                                                        std::string_view version,
                                                        const FileOptions& options);

// What a program of GPUDirect Storage needs beside its nodes.
[[nodiscard]] std::vector<partita::cdi::DriverFile> ReadStorageFiles(const DriverRoot& driver);

}  // namespace partita::service::cdi
