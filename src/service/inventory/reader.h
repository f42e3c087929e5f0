// How commands look at this machine. The live inventory of the agent takes this place.
#pragma once

#include "hw/inventory_reader.h"

namespace partita::service::inventory {

using ReaderOptions = hw::ReaderOptions;
using Reader = hw::InventoryReader;

// nvidia_drm with mode setting may hold GPUs although no process does.
[[nodiscard]] bool DisplayModuleHoldsGpus(const ReaderOptions& options);

}  // namespace partita::service::inventory
