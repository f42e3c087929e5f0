// Which of a GPU instance's compute-instance profiles to make.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/inventory.h"

namespace partita::model {

// The id with so many slices and the most multiprocessors; of equals the lowest. A 1g instance with
// double memory has 26 multiprocessors on an H200, of which profile 0 gives 16 and profile 7 all;
// on an A100 it has no profile 7. Nothing when no profile is so wide.
[[nodiscard]] std::optional<std::uint32_t> ChooseComputeProfile(
    const std::vector<ComputeInstanceProfile>& offered, std::uint32_t slices);

}  // namespace partita::model
