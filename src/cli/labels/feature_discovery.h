// This program under the name gpu-feature-discovery: the flags, variables, configuration and exit
// statuses of NVIDIA's, so that its manifests work unchanged. It looks at intervals, by itself: no
// agent is asked.
#pragma once

#include <string_view>

#include "base/command_line.h"

namespace partita::cli {

inline constexpr std::string_view kFeatureDiscoveryName = "gpu-feature-discovery";

// For --help, completion and the man page; the words are read as the reference reads them.
[[nodiscard]] base::Program MakeFeatureDiscoveryProgram();

// Every error ends with status 1.
int FeatureDiscoveryMain(int argc, char** argv);

}  // namespace partita::cli
