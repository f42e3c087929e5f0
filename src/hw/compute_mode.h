// Who may compute on a GPU: everybody, one process, nobody. Each is one job of the driver, with its
// deadline, and blocks.
#pragma once

#include "base/result.h"
#include "hw/nvml/driver.h"
#include "model/ids.h"
#include "model/inventory.h"

namespace partita::hw {

[[nodiscard]] base::Result<model::ComputeMode> ReadComputeMode(nvml::Driver& driver,
                                                               const model::PciAddress& gpu);

// Read back: kNotApplied where the driver says yes and has another mode. kUnsupported where MIG is
// on.
[[nodiscard]] base::Result<void> SetComputeMode(nvml::Driver& driver,
                                                const model::PciAddress& gpu,
                                                model::ComputeMode mode);

}  // namespace partita::hw
