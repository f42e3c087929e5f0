// Compute instances at their places inside one GPU instance.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/inventory.h"
#include "model/mig/planner.h"

namespace partita::model {

// A first compute slice for each of these sizes, beside what stays, where the driver offers it;
// nothing when they do not all fit. Of the ways that fit, the first in the driver's order.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> PlaceCompute(
    const std::vector<ComputeInstanceProfile>& offered,
    const std::vector<LiveComputeInstance>& staying,
    const ComputeSizes& sizes);

// A GPU instance that stays and shall be divided so: which compute instances stay, go and come.
// Fewest in use go, then fewest are changed, and those that come fit beside those that stay.
// Nothing when the driver's places do not allow such a division at all. Where they are not known,
// slices are counted alone.
[[nodiscard]] std::optional<KeptInstance> KeepCompute(const LiveInstance& live,
                                                      const ComputeSizes& wanted);

}  // namespace partita::model
