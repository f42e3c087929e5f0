#pragma once

#include "cli/drawing.h"
#include "model/inventory.h"

namespace partita::cli {

// One GPU as a block: heading, faults, gauges, modes, slices, holders; with `details` also what
// identifies it and the UUIDs of its MIG devices.
[[nodiscard]] Lines DrawGpu(const model::Gpu& gpu, bool details, const Look& look);

}  // namespace partita::cli
