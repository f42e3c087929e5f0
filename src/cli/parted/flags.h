// Flags that several commands of nvidia-mig-parted have.
#pragma once

#include <string>

#include "base/command_line.h"

namespace partita::cli::parted {

[[nodiscard]] base::Option FileFlag(std::string name, std::string environment, std::string help);
[[nodiscard]] base::Option ConfigFileFlag();
[[nodiscard]] base::Option SelectedConfigFlag();
[[nodiscard]] base::Option CheckpointFileFlag();
[[nodiscard]] base::Option HooksFileFlag();
[[nodiscard]] base::Option ModeOnlyFlag();

}  // namespace partita::cli::parted
