// `partita agent` and `partita config`: the program that runs on, and what it is told; and
// `partita mps-runner` and `partita mps` beside it.
#pragma once

#include "base/command_line.h"

namespace partita::cli {

[[nodiscard]] base::Command AgentCommand();
[[nodiscard]] base::Command ConfigCommand();
[[nodiscard]] base::Command MpsCommand();
[[nodiscard]] base::Command MpsRunnerCommand();

int RunAgentCommand(const base::Invocation& invocation);
int RunConfigCheck(const base::Invocation& invocation);
int RunConfigShow(const base::Invocation& invocation);
int RunConfigReload(const base::Invocation& invocation);

}  // namespace partita::cli
