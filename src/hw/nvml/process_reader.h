// Who uses a GPU, as the driver lists them.
#pragma once

#include "hw/nvml/device_calls.h"
#include "model/inventory.h"

namespace partita::hw::nvml {

// In a job of the driver. In `gpu.processes_error` why that may not be all: a list that this driver
// does not have, or that it did not give, is not an empty list. A process under MPS is listed by
// the driver twice and here once.
void ReadProcesses(DeviceCalls& calls, model::Gpu& gpu);

}  // namespace partita::hw::nvml
