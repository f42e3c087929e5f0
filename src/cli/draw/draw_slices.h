#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/draw/drawing.h"
#include "model/inventory.h"

namespace partita::cli {

// The GPU's memory slices as a row of cells, to scale: every GPU instance a box with its profile
// above, its compute instances inside and its id below; slices without one stay visible.
// Empty when the GPU is not in MIG mode.
[[nodiscard]] Lines DrawSlices(const model::Gpu& gpu, int indent, const Look& look);

// The same with something else below the boxes: spellings from the full one to the shortest.
using SliceNote = std::function<std::vector<std::string>(const model::GpuInstance&)>;
[[nodiscard]] Lines DrawSlices(const model::Gpu& gpu,
                               int indent,
                               const Look& look,
                               const SliceNote& note);

}  // namespace partita::cli
