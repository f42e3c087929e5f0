// This program under the name nvidia-mig-parted: the commands, flags, environment variables, result
// lines, error texts and exit statuses of NVIDIA's partition editor, so that units and scripts that
// call it work unchanged. What a change does is what `partita mig` does.
#pragma once

#include <string_view>

#include "base/command_line.h"

namespace partita::cli {

inline constexpr std::string_view kMigPartedName = "nvidia-mig-parted";

[[nodiscard]] base::Program MakeMigPartedProgram();

// Every error ends with status 1, unless --exit-codes=extended asks for partita's own.
int MigPartedMain(int argc, char** argv);

}  // namespace partita::cli
