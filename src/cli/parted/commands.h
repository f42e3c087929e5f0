// The commands of nvidia-mig-parted, each with its flags and what it runs.
#pragma once

#include "base/command_line.h"

namespace partita::cli::parted {

[[nodiscard]] base::Command ApplyCommand();
[[nodiscard]] base::Command AssertCommand();
[[nodiscard]] base::Command ExportCommand();
[[nodiscard]] base::Command GenerateConfigCommand();
[[nodiscard]] base::Command CheckpointCommand();
[[nodiscard]] base::Command RestoreCommand();

}  // namespace partita::cli::parted
