// `partita runtime`: container engines told of NVIDIA's runtime.
#pragma once

#include "base/command_line.h"

namespace partita::cli {

[[nodiscard]] base::Command RuntimeCommand();

int RunRuntimeConfigure(const base::Invocation& invocation);

}  // namespace partita::cli
