#pragma once

#include <cstddef>
#include <string>

#include "model/inventory.h"

namespace partita::model {

// One look at a node, as every form of `partita status` shows it.
struct NodeReport {
  std::string host;
  std::string time;              // RFC 3339, UTC, seconds
  std::size_t gpus_on_node = 0;  // more than the inventory holds when --gpu selected some
  Inventory inventory;
};

}  // namespace partita::model
