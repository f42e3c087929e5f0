// The folders that partita writes, which every node has for its own, as every machine has.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>

#include "base/result.h"

namespace partita::sim::tool {

struct OwnFolder {
  const char* path;  // in the node's view; under the node's root the same
  mode_t mode;
  bool outlives_boot;
};
inline constexpr std::array kOwnFolders = {OwnFolder{"/run/partita", 0755, false},
                                           OwnFolder{"/run/cdi", 0755, false},
                                           OwnFolder{"/var/lib/partita", 0700, true}};

// Makes them, empty, for a root that is being built.
[[nodiscard]] base::Result<void> MakeOwnFolders(const std::string& root);
// Empties those that do not outlive a boot. The folders stay: open views have them mounted.
[[nodiscard]] base::Result<void> EmptyAtBoot(const std::string& root);

}  // namespace partita::sim::tool
