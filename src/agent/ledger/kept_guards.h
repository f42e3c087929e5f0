// A change that a command carries out itself, because no agent runs: what an agent has given to
// pods and written down is theirs all the same.
#pragma once

#include <string>

#include "base/result.h"
#include "service/mig/procedure.h"

namespace partita::agent {

// Only reads. Without a ledger in `state_directory` there is nobody to guard; one that cannot be
// read is an error, since it may hold anybody's devices.
[[nodiscard]] base::Result<service::mig::ChangeGuards> KeptGuards(
    const std::string& state_directory);

}  // namespace partita::agent
