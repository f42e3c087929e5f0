// One text for every way to name a file.
#pragma once

#include <string>

#include "base/result.h"

namespace partita::base {

// Where a path leads: from the root on, without "..", every link followed, also one that leads to
// what is not there yet.
[[nodiscard]] Result<std::string> RealPath(const std::string& path);

}  // namespace partita::base
