// Names of GPUs in inventory.json: one that does not answer after a restart of the agent still has
// the UUID by which others know it. Of one boot: after another the bus may be another.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "service/inventory/known_gpus.h"

namespace partita::agent {

// None where the file is of another boot, or absent.
[[nodiscard]] base::Result<std::vector<service::inventory::Remembered>> ReadRememberedGpus(
    const std::string& state_directory);
[[nodiscard]] base::Result<void> WriteRememberedGpus(
    const std::string& state_directory, const std::vector<service::inventory::Remembered>& gpus);

}  // namespace partita::agent
