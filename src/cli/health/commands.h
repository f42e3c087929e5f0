// `partita health`: which GPUs and MIG devices may get work, and what is wrong with the others.
#pragma once

#include "base/command_line.h"

namespace partita::cli {

[[nodiscard]] base::Command HealthCommand();

int RunHealth(const base::Invocation& invocation);
int RunHealthClear(const base::Invocation& invocation);

}  // namespace partita::cli
