#include "sim/tool/busy.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "base/text.h"
#include "sim/state/holders.h"

namespace partita::sim::tool {

base::Result<void> CheckNotHeld(const Node& node,
                                const Slot& slot,
                                const std::vector<std::uint32_t>& gpus,
                                std::string_view what) {
  std::vector<std::string> holders;
  for (std::uint32_t i = 0; i < kMaxHolders; ++i) {
    const Holder& holder = slot.holders[i];
    if (holder.live == 0 || std::ranges::find(gpus, holder.gpu) == gpus.end()) continue;
    const HolderView view = LookAtHolder(node.root().c_str(), holder, i);
    holders.push_back(fmt::format("workload {} on GPU {} (pid {}, {})", i, holder.gpu,
                                  view.pid == 0 ? "elsewhere" : std::to_string(view.pid),
                                  holder.name));
  }
  if (holders.empty()) return {};
  return base::MakeError(base::ErrorCode::kBusy, "{}: held by {}", what, base::Join(holders, ", "))
      .WithHint("stop them (partita-sim workload stop), or use --force");
}

std::vector<std::uint32_t> AllGpus(const Machine& machine) {
  std::vector<std::uint32_t> gpus;
  for (std::uint32_t i = 0; i < machine.gpu_count; ++i) gpus.push_back(i);
  return gpus;
}

}  // namespace partita::sim::tool
