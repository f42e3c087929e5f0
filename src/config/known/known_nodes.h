// Machines that this program knows without being on one: for answers where there is none.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/inventory.h"

namespace partita::config {

struct KnownNode {
  model::Inventory node;  // idle GPUs, MIG off, at their addresses; the driver of the description
  std::optional<std::string> machine;  // the firmware's name of it
};

// "dgx-a100-40", …, sorted: what ReadKnownNode takes.
[[nodiscard]] std::vector<std::string> KnownNodeNames();

// kInvalid, with the names that there are, for another name.
[[nodiscard]] base::Result<KnownNode> ReadKnownNode(std::string_view name);

}  // namespace partita::config
