// What NVML says of one GPU. All in a job of the driver; none of them fails: what is missing stays
// absent, and `calls` knows why.
#pragma once

#include "hw/nvml/device_calls.h"
#include "model/inventory.h"

namespace partita::hw::nvml {

// Index, minor, UUID, name, PCI. True if the GPU could be identified.
bool ReadIdentity(DeviceCalls& calls, model::Gpu& gpu);

// Board, memory, PCIe, modes, and the recovery action that the driver asks for (a fault).
void ReadBoard(DeviceCalls& calls, model::Gpu& gpu);

// The parts of the same. What stays as it is while a session lasts:
void ReadBoardConstants(DeviceCalls& calls, model::Gpu& gpu);
// What somebody sets, and the recovery action that the driver asks for (a fault).
void ReadBoardModes(DeviceCalls& calls, model::Gpu& gpu);
// What wears and moves: the PCIe link as it is now, errors of memory (faults).
void ReadBoardWear(DeviceCalls& calls, model::Gpu& gpu);

// Load, temperature, power, clocks. Nothing slow: on driver 580 one PCIe throughput read takes 21
// ms.
void ReadReadings(DeviceCalls& calls, model::Readings& readings);

// Of the same, what MIG depends on.
void ReadMigBoard(DeviceCalls& calls, model::Gpu& gpu);

// Memory as the GPU, or a MIG device of it, sees it.
[[nodiscard]] std::optional<model::Memory> ReadMemory(DeviceCalls& calls, nvmlDevice_t device);

}  // namespace partita::hw::nvml
