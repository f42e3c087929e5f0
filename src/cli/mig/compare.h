#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "cli/draw/drawing.h"
#include "model/inventory.h"
#include "service/mig/node_goal.h"

namespace partita::cli {

// How one GPU differs from what it shall be, as a person would write it: "- 7 x 1g.5gb".
struct GpuDifference {
  std::size_t gpu = 0;  // position in Inventory::gpus
  std::vector<std::string> gone, added;
  bool operator==(const GpuDifference&) const = default;
};

// GPUs that are as wanted are absent. With `mode_only` devices do not count. Fails when one of them
// was not wholly read.
[[nodiscard]] base::Result<std::vector<GpuDifference>> Differences(
    const model::Inventory& node, const service::mig::NodeGoal& goal, bool mode_only);

[[nodiscard]] Lines DrawMigDiff(const model::Inventory& node,
                                const std::vector<GpuDifference>& differences,
                                const Look& look);
// partita.dev/mig/v1, kind MigDiff.
[[nodiscard]] base::Value MigDiffDocument(const model::Inventory& node,
                                          const std::vector<GpuDifference>& differences);

}  // namespace partita::cli
