#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/inventory.h"
#include "model/mps_domain.h"

namespace partita::model {

// A GPU that does not answer: what is shown of it is what it last said.
struct StaleGpu {
  std::optional<std::uint64_t> seconds;  // since its last answer; absent: there was none
  std::string why;
  bool operator==(const StaleGpu&) const = default;
};
using StaleGpus = std::map<PciAddress, StaleGpu>;

// One look at a node, as every form of `partita status` shows it.
struct NodeReport {
  std::string host;
  std::string time;              // RFC 3339, UTC, seconds
  std::size_t gpus_on_node = 0;  // more than the inventory holds when --gpu selected some
  Inventory inventory;
  StaleGpus stale = {};
  std::vector<MpsDomain> mps = {};  // where the agent was asked
};

}  // namespace partita::model
