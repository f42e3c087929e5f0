// The commands of partita, one file each. Each function runs one and returns its exit status.
#pragma once

#include <string_view>

#include "base/command_line.h"

namespace partita::cli {

int RunStatus(const base::Invocation& invocation);
int RunVersion(const base::Invocation& invocation);
int RunCompletion(const base::Invocation& invocation);
int RunMan(const base::Invocation& invocation);
int RunSim(const base::Invocation& invocation);

// Every command with its options, help and examples: parsing, --help, completion and the man page
// all come from here.
[[nodiscard]] base::Program MakeProgram();
// The same for the name that the program is called by: nvidia-mig-parted, else partita.
[[nodiscard]] base::Program ProgramNamed(std::string_view name);

[[nodiscard]] std::string_view Version();

}  // namespace partita::cli
