// `partita agent` and `partita config`: the program that runs on, and what it is told.
#pragma once

#include "base/command_line.h"

namespace partita::cli {

[[nodiscard]] base::Command ConfigCommand();

int RunConfigCheck(const base::Invocation& invocation);
int RunConfigShow(const base::Invocation& invocation);

}  // namespace partita::cli
