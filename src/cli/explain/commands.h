// `partita explain`: what a pod would get here.
#pragma once

#include "base/command_line.h"

namespace partita::cli {

[[nodiscard]] base::Command ExplainCommand();

int RunExplain(const base::Invocation& invocation);

}  // namespace partita::cli
