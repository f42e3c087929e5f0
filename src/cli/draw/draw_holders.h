#pragma once

#include "cli/draw/drawing.h"
#include "model/inventory.h"

namespace partita::cli {

// Who uses the GPU: pid, name, memory, slice and pod, as many side by side as fit; a pod that does
// not fit beside its process is below it. Then who cannot be named: somebody hidden, or that nobody
// knows.
[[nodiscard]] Lines DrawHolders(const model::Gpu& gpu, int indent, const Look& look);

}  // namespace partita::cli
