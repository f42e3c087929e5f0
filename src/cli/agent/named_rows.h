// What chose the device plugin's configuration, and what that says, as rows of
// `partita config show --origin`.
#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "config/agent_config.h"

namespace partita::cli {

// `report` is what an agent that runs with this configuration says as "named" of "config.named";
// null where none does: then the label is not known, and counts as not set.
[[nodiscard]] std::vector<config::KeyedSetting> NamedRows(const config::AgentConfig& config,
                                                          const base::Value& report);

// What the agent of this machine says, where one runs with this file.
struct AgentReport {
  std::string overlay;  // that the node's label has laid over the file; empty: none
  base::Value named;    // null: nobody says
};
[[nodiscard]] AgentReport AskForNamed(const std::string& config_file);

}  // namespace partita::cli
