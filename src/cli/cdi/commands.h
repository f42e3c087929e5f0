// The commands of `partita cdi`. Each function runs one and returns its exit status.
#pragma once

#include "base/command_line.h"

namespace partita::cli {

int RunCdiList(const base::Invocation& invocation);
int RunCdiValidate(const base::Invocation& invocation);
int RunCdiDiff(const base::Invocation& invocation);

[[nodiscard]] base::Command CdiGenerateCommand();
[[nodiscard]] base::Command CdiJitCommand();

// The table of `cdi`: options, help and examples.
[[nodiscard]] base::Command CdiCommand();

}  // namespace partita::cli
