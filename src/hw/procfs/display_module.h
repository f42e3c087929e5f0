// The part of the driver that drives displays. It holds GPUs without being a process.
#pragma once

#include <string>

namespace partita::hw::procfs {

// Whether nvidia_drm is loaded below `root` and sets modes: then it keeps every GPU open, and a
// reset of one fails as "in use by another client".
[[nodiscard]] bool DisplayModuleHoldsGpus(const std::string& root);

}  // namespace partita::hw::procfs
