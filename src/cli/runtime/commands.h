// `partita runtime`: container engines told of NVIDIA's runtime, and its own file.
#pragma once

#include "base/command_line.h"

namespace partita::cli {

[[nodiscard]] base::Command RuntimeCommand();
[[nodiscard]] base::Command RuntimeConfigCommand();

int RunRuntimeConfigure(const base::Invocation& invocation);
int RunRuntimeConfig(const base::Invocation& invocation);

}  // namespace partita::cli
