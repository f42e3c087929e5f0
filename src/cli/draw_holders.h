#pragma once

#include "cli/drawing.h"
#include "model/inventory.h"

namespace partita::cli {

// Who uses the GPU: pid, name, memory and the slice, as many side by side as fit.
[[nodiscard]] Lines DrawHolders(const model::Gpu& gpu, int indent, const Look& look);

}  // namespace partita::cli
