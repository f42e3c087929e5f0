#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/state/layout.h"
#include "sim/tool/nodes.h"

namespace partita::sim::tool {

// kBusy, with every workload named, when one holds any of these GPUs. `what` is what it prevents.
[[nodiscard]] base::Result<void> CheckNotHeld(const Node& node,
                                              const Slot& slot,
                                              const std::vector<std::uint32_t>& gpus,
                                              std::string_view what);
[[nodiscard]] std::vector<std::uint32_t> AllGpus(const Machine& machine);

}  // namespace partita::sim::tool
