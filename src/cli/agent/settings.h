// The agent's settings as flags and variables.
#pragma once

#include <vector>

#include "base/command_line.h"
#include "config/agent_config.h"

namespace partita::cli {

// Those that are not options of every command already (--host-root, --driver-root).
[[nodiscard]] std::vector<base::Option> SettingOptions();

// The file and what was given beside it.
[[nodiscard]] config::AgentConfigSource ReadConfigSource(const base::Invocation& invocation);

}  // namespace partita::cli
