// The `mig:` part of a product file: geometry and the two profile tables.
#pragma once

#include <string>
#include <vector>

#include "config/document.h"
#include "config/problems.h"
#include "sim/state/layout.h"

namespace partita::sim::load {

void ReadMig(const config::Node& mig,
             const std::vector<std::string>& sources,
             config::Problems& problems,
             Board& board);

}  // namespace partita::sim::load
