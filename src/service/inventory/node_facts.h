// What files of this machine tell beside the inventory, for those who may not look themselves.
#pragma once

#include <string>

#include "model/node_facts.h"

namespace partita::service::inventory {

// See hw::ReadNodeFacts.
[[nodiscard]] model::NodeFacts ReadNodeFacts(const std::string& root);

}  // namespace partita::service::inventory
