#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"
#include "base/value.h"
#include "cli/draw/drawing.h"
#include "cli/mig/node.h"
#include "cli/mig/request.h"
#include "model/inventory.h"
#include "service/mig/differences.h"
#include "service/mig/node_goal.h"

namespace partita::cli {

// What diff and assert take.
struct CompareOptions : MigOptions {
  MigRequest request;
};
[[nodiscard]] base::Result<CompareOptions> ReadCompareOptions(const base::Invocation& invocation);

struct Asked {
  const MigOptions& options;
  model::Inventory node;
  service::mig::NodeGoal goal;
};

// What diff and assert begin with; `work` returns the exit status.
int WithGoal(const CompareOptions& options, const std::function<int(const Asked&)>& work);
// The same for modes, which can be compared without a driver too.
int WithModes(const CompareOptions& options, const std::function<int(const Asked&)>& work);

[[nodiscard]] Lines DrawMigDiff(const model::Inventory& node,
                                const std::vector<service::mig::GpuDifference>& differences,
                                const Look& look);
// partita.dev/mig/v1, kind MigDiff.
[[nodiscard]] base::Value MigDiffDocument(
    const model::Inventory& node, const std::vector<service::mig::GpuDifference>& differences);

}  // namespace partita::cli
