#pragma once

#include "cli/draw/drawing.h"
#include "model/inventory.h"

namespace partita::cli {

// How the GPUs reach each other: NVLink and PCIe, each as one sentence where all pairs are alike,
// else as a matrix where the width allows it, else as a list. Empty below two GPUs.
[[nodiscard]] Lines DrawLinks(const model::Inventory& inventory, const Look& look);

}  // namespace partita::cli
