// What an agent does about MIG when it starts: it compares, and brings back what a reboot took only
// where nothing else does.
#pragma once

#include <string>

#include "base/result.h"
#include "config/agent_config.h"
#include "model/inventory.h"
#include "service/mig/boot.h"
#include "service/mig/layout_check.h"

namespace partita::agent {

[[nodiscard]] service::mig::WantedLayout WantedLayoutOf(const config::AgentConfig& config,
                                                        const std::string& state_directory);

// As partita-mig.service would be told.
[[nodiscard]] service::mig::BootChoice BootChoiceOf(const config::AgentConfig& config);

// Whether the layout is this agent's to bring back (docs/decisions/010): the configuration lets it,
// no partita-mig.service does it, an agent ran here in an earlier boot and none in this one, and
// all that differs is missing with nothing in its place. It may be if that last thing is so too.
[[nodiscard]] bool MayBeOursToBringBack(const config::AgentConfig& config,
                                        const std::string& state_directory);
[[nodiscard]] bool IsOursToBringBack(const service::mig::LayoutCheck& check,
                                     const config::AgentConfig& config,
                                     const std::string& state_directory);

// Told at the end of that: the next agent of this boot only compares.
[[nodiscard]] base::Result<void> RememberThisBoot(const std::string& state_directory);

}  // namespace partita::agent
