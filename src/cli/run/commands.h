// `partita run`.
#pragma once

#include "base/command_line.h"

namespace partita::cli {

// The table of `run`: options, help and examples.
[[nodiscard]] base::Command RunCommand();

}  // namespace partita::cli
