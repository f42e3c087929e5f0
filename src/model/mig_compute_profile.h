// Which of a GPU instance's compute-instance profiles to make.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace partita::model {

// One kind of compute instance that a GPU instance offers, as NVML reports it once that instance
// exists.
struct ComputeInstanceProfile {
  std::uint32_t id = 0;
  std::uint32_t slice_count = 0;
  std::uint32_t multiprocessors = 0;
  bool operator==(const ComputeInstanceProfile&) const = default;
};

// The id with so many slices and the most multiprocessors; of equals the lowest. A 1g instance with
// double memory has 26 multiprocessors on an H200, of which profile 0 gives 16 and profile 7 all;
// on an A100 it has no profile 7. Nothing when no profile is so wide.
[[nodiscard]] std::optional<std::uint32_t> ChooseComputeProfile(
    const std::vector<ComputeInstanceProfile>& offered, std::uint32_t slices);

}  // namespace partita::model
