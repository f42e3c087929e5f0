#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/inventory.h"

namespace partita::model {

// The inventory with only the GPUs that are asked for: by index ("0"), UUID or the start of one
// ("GPU-75dc73da"), MIG device UUID (its GPU) or PCI address in any spelling; also those bound to
// vfio, by address; or every GPU of a product ("H200", "NVIDIA H200"). Commas separate several:
// "0,1". Links and problems of other GPUs go; what concerns the node stays. kInvalid when one names
// no GPU, or the start of several.
[[nodiscard]] base::Result<model::Inventory> SelectGpus(model::Inventory inventory,
                                                        const std::vector<std::string>& wanted);

}  // namespace partita::model
