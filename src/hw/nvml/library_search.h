// Where the driver's library is looked for.
#pragma once

#include <string>
#include <vector>

namespace partita::hw::nvml {

struct LibrarySearch {
  std::string path;               // exactly this file; empty: search
  std::string driver_root = "/";  // where the driver's files are installed
};

// What is tried, in this order. With a driver root of its own that root comes before the loader's
// search: a library that was injected into this container may belong to an older driver.
[[nodiscard]] std::vector<std::string> LibraryCandidates(const LibrarySearch& search);

}  // namespace partita::hw::nvml
