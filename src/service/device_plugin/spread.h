// Shares and MIG devices, chosen one by one.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "config/plugin_config.h"

namespace partita::service::device_plugin {

// A device, by where it is: numbers count from 0 and are only compared.
struct Spot {
  std::size_t gpu = 0;
  std::size_t device = 0;  // the GPU itself or a MIG device of it, over all GPUs
  bool free = false;
  bool required = false;  // then not free
  bool barred = false;    // free, and this container is not to get it
  std::size_t group = 0;  // one container may have those of one group together
};
// The group of what a container gets by itself alone.
inline constexpr std::size_t kAlone = std::numeric_limits<std::size_t>::max();

struct Spread {
  std::vector<std::size_t> spots;  // in the order in which they were chosen
  std::size_t steps = 0;           // looks at a device: what it cost
};

// Up to `count` of the free ones that are not barred. By policy: the GPU with the fewest taken
// devices (distributed), with the most (packed), or with the fewest that this container has
// (spread). Then the GPU, and of a GPU the device, that this container has least of; then the
// first. Both levels go by the policy.
[[nodiscard]] Spread ChooseSpots(const std::vector<Spot>& spots,
                                 config::SharePolicy policy,
                                 std::size_t count);

}  // namespace partita::service::device_plugin
