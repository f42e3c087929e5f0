// <root>/sys/class/dmi: what the machine's firmware calls it.
#pragma once

#include <string>

#include "base/result.h"
#include "sim/load/node_file.h"

namespace partita::sim::tool {

// For a root that is being built. A node without DMI names gets none of these files.
[[nodiscard]] base::Result<void> MakeDmi(const std::string& root, const load::LoadedNode& node);

// Where the node at `root` has no DMI names, the host's are covered: they are of another machine.
// For a view that has /sys composed.
[[nodiscard]] base::Result<void> HideHostDmi(const std::string& root);

}  // namespace partita::sim::tool
