// The MIG side of one GPU. On the driver thread.
#pragma once

#include "hw/nvml/device_calls.h"
#include "model/inventory.h"

namespace partita::hw::nvml {

// Mode, profiles, placements and what is made of them; `gpu.mig` stays absent if the GPU cannot do
// MIG, and `gpu.mig_error` says what could not be read. Needs `gpu.memory`, which the names of
// profiles depend on.
void ReadMig(DeviceCalls& calls, model::Gpu& gpu);

}  // namespace partita::hw::nvml
