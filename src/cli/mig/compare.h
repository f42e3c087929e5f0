#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "cli/draw/drawing.h"
#include "model/inventory.h"
#include "service/mig/differences.h"

namespace partita::cli {

[[nodiscard]] Lines DrawMigDiff(const model::Inventory& node,
                                const std::vector<service::mig::GpuDifference>& differences,
                                const Look& look);
// partita.dev/mig/v1, kind MigDiff.
[[nodiscard]] base::Value MigDiffDocument(
    const model::Inventory& node, const std::vector<service::mig::GpuDifference>& differences);

}  // namespace partita::cli
