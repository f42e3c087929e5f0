// The commands of `partita mig`. Each function runs one and returns its exit status.
#pragma once

#include "base/command_line.h"

namespace partita::cli {

int RunMigProfiles(const base::Invocation& invocation);
int RunMigLayouts(const base::Invocation& invocation);
int RunMigShow(const base::Invocation& invocation);

// The table of `mig`: options, help and examples.
[[nodiscard]] base::Command MigCommand();

}  // namespace partita::cli
