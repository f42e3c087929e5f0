#pragma once

#include "cli/draw/drawing.h"
#include "model/inventory.h"
#include "model/node_report.h"

namespace partita::cli {

// One GPU as a block: heading, faults, how old it is where it is `stale` (else null), gauges,
// modes, slices, holders; with `details` also what identifies it and the UUIDs of its MIG devices.
[[nodiscard]] Lines DrawGpu(const model::Gpu& gpu,
                            const model::StaleGpu* stale,
                            bool details,
                            const Look& look);

// `── GPU 0  NVIDIA H200 ───── GPU-75dc73da  0000:00:06.0  NUMA 0 ──`
[[nodiscard]] Line DrawGpuHeading(const model::Gpu& gpu, const Look& look);

}  // namespace partita::cli
