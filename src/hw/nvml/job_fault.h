// What it means for a GPU that a job about it did not run to its end.
#pragma once

#include "hw/nvml/driver.h"
#include "model/inventory.h"

namespace partita::hw::nvml {

[[nodiscard]] model::Fault FaultFrom(const Driver::Report& report);

// The same as an error, for whoever wanted something done. The job is not Done().
[[nodiscard]] base::Error ErrorFrom(const Driver::Report& report);

}  // namespace partita::hw::nvml
