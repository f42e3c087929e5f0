// What files of this machine tell beside the inventory.
#pragma once

#include <string>

#include "model/node_facts.h"

namespace partita::hw {

// Below `root`. What cannot be read is absent. Reading config spaces wakes functions that sleep:
// not for every look.
[[nodiscard]] model::NodeFacts ReadNodeFacts(const std::string& root);

}  // namespace partita::hw
