// The driver's nodes that this process has open.
#pragma once

#include <string>

#include "base/result.h"

namespace partita::hw::nvml {

// kBusy if this process has a node of the driver open, which would make every reset fail. Looks at
// the links in `directory`, which is this process's own but in tests.
[[nodiscard]] base::Result<void> CheckNoOpenNodes(const std::string& directory = "/proc/self/fd");

}  // namespace partita::hw::nvml
