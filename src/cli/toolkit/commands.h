// `partita toolkit`: what engines call, put onto a host.
#pragma once

#include "base/command_line.h"

namespace partita::cli {

[[nodiscard]] base::Command ToolkitCommand();

int RunToolkitInstall(const base::Invocation& invocation);

}  // namespace partita::cli
