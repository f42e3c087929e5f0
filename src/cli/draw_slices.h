#pragma once

#include "cli/drawing.h"
#include "model/inventory.h"

namespace partita::cli {

// The GPU's memory slices as a row of cells, to scale: every GPU instance a box with its profile
// above, its compute instances inside and its id below; slices without one stay visible.
// Empty when the GPU is not in MIG mode.
[[nodiscard]] Lines DrawSlices(const model::Gpu& gpu, int indent, const Look& look);

}  // namespace partita::cli
