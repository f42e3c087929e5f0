// What happens to a node over its life, as functions over its fixed part and its state: resets,
// driver loads, boots, faults and the events they leave. All work on a transaction's slot.
#pragma once

#include <stdint.h>

#include "sim/state/layout.h"

namespace partita::sim {

inline constexpr uint64_t kEventXid = 0x8;
inline constexpr uint64_t kEventMigConfigChange = 0x100;
inline constexpr uint64_t kSystemEventUnbind = 0x1;
inline constexpr uint64_t kSystemEventBind = 0x2;

// Appends to the ring; every registered event set of every process gets it once.
void AddEvent(Slot& slot,
              uint32_t gpu,
              uint64_t type,
              uint64_t data,
              uint32_t gpu_instance = kNone,
              uint32_t compute_instance = kNone);
void AddXid(Slot& slot,
            uint32_t gpu,
            uint64_t xid,
            uint32_t gpu_instance = kNone,
            uint32_t compute_instance = kNone);

// The same, as the driver tells it of a GPU with ECC: an error of memory that was not corrected is
// counted, until a reset or another load of the driver.
void FailWithXid(Slot& slot,
                 uint32_t gpu,
                 uint64_t xid,
                 uint32_t gpu_instance = kNone,
                 uint32_t compute_instance = kNone);

// Told to sets of system events: the GPU has another driver than `before`. Nothing if neither is
// NVIDIA's.
void TellOfDriver(Slot& slot, uint32_t gpu, PciDriver before);

// Off the bus: XID 79, then every call on the GPU answers GPU_IS_LOST until the node reboots.
void LoseGpu(Slot& slot, uint32_t gpu);

// Pending modes become current, instances go, volatile counters are cleared, faults that a reset
// cures end. False: the GPU is off the bus and cannot be reset. Who holds it is the caller's to
// ask.
bool ResetGpu(const Machine& machine, Slot& slot, uint32_t gpu);

// Holders end, GPU and compute instances go; the MIG mode stays where it is kept on the board
// (before Hopper) and is lost where the driver keeps it. Clients of the old load are cut off.
void UnloadDriver(const Machine& machine, Slot& slot);
void LoadDriver(const Machine& machine, Slot& slot);
void ReloadDriver(const Machine& machine, Slot& slot);

// A driver reload with a new boot id; GPUs return to the bus and to the nvidia driver, call faults
// end.
void Reboot(const Machine& machine, Slot& slot);

// What a board that was just plugged in starts with.
Gpu PluggedIn(const Board& board);

// The state of a node at its first boot, driver loaded. `slot` is zeroed first.
void FirstBoot(const Machine& machine, Slot& slot);

// As /proc/sys/kernel/random/boot_id: 36 characters, a function of the seed and the boot's number.
void NameBoot(const Machine& machine, uint64_t boot, char* out);

}  // namespace partita::sim
