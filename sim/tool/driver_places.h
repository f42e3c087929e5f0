// A node's libraries, programs and firmware at the places where a distribution installs a driver's:
// programs that look there, or into the loader's cache, need no driver root.
#pragma once

#include <string>

#include "base/result.h"

namespace partita::sim::tool {

// Where this distribution keeps libraries: where it keeps the libc that this process loaded. To be
// asked before the process leaves its mount namespace, from which the kernel names loaded files.
[[nodiscard]] base::Result<std::string> LibraryFolder();

// Lays read-only overlays over the folders of programs, libraries and firmware, and puts a cache
// that knows the libraries over the loader's. For a mount namespace that already has the node's
// root at kViewRoot.
[[nodiscard]] base::Result<void> ShowDriverPlaces(const std::string& libraries);

}  // namespace partita::sim::tool
