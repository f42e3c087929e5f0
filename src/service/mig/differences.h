#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/inventory.h"
#include "service/mig/node_goal.h"

namespace partita::service::mig {

// How one GPU differs from what it shall be, as a person would write it: "- 7 x 1g.5gb".
struct GpuDifference {
  model::GpuIdentity gpu;
  std::vector<std::string> gone, added;
  bool operator==(const GpuDifference&) const = default;
};

// GPUs that are as wanted are absent. With `mode_only` devices do not count. Fails when one of them
// was not wholly read, or is gone.
[[nodiscard]] base::Result<std::vector<GpuDifference>> Differences(const model::Inventory& node,
                                                                   const NodeGoal& goal,
                                                                   bool mode_only);

}  // namespace partita::service::mig
