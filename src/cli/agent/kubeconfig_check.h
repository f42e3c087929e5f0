// Whether the agent would find its way to the API server by the file that node.kubeconfig names.
#pragma once

#include "base/result.h"
#include "config/agent_config.h"

namespace partita::cli {

// A file that is absent or cannot be read is told with the place of the setting, and what is wrong
// in the file with its place there. Nobody is asked over the network.
[[nodiscard]] base::Result<void> CheckKubeconfig(const config::AgentConfig& config,
                                                 const config::AgentConfigSource& source);

}  // namespace partita::cli
