// The root of a container that is made and not started.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "base/root_dir.h"

namespace partita::hook {

// The directory of which config.json was read.
struct BundleRead {
  std::string path;
  dev_t device = 0;
  ino_t file = 0;
};

struct LegacyRoot {
  std::string path;                    // as the mount namespace of the container's process calls it
  std::optional<BundleRead> bundle{};  // where the path counts from; else it is absolute
};

// In the container's mount namespace. Paths may lead elsewhere by now than when they were read: the
// bundle must be the one that was (kConflict), and the root a mount of its own, as runtimes make it
// (kDenied), so that what is made in it is made in a container.
[[nodiscard]] base::Result<base::RootDir> OpenLegacyRoot(const LegacyRoot& root);

}  // namespace partita::hook
