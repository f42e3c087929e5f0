#include "sim/state/life.h"

#include <stdio.h>
#include <string.h>

#include "sim/state/holders.h"
#include "sim/state/mig.h"
#include "sim/state/sha1.h"
#include "sim/state/time.h"

namespace partita::sim {
namespace {

uint32_t GpuCount(const Machine& machine) {
  return machine.gpu_count < kMaxGpus ? machine.gpu_count : kMaxGpus;
}

// What a reset and a driver load have in common.
void Restart(Gpu& gpu) {
  DestroyAllInstances(gpu);
  gpu.ecc_current = gpu.ecc_pending;
  gpu.ecc_volatile[0] = gpu.ecc_volatile[1] = 0;
  gpu.rows_pending = 0;
  gpu.reset_required = 0;
  gpu.recovery_action = 0;
}

void EndHoldersOf(const Machine& machine, Slot& slot, uint32_t gpu) {
  for (uint32_t index = 0; index < kMaxHolders; ++index) {
    if (slot.holders[index].live != 0 && slot.holders[index].gpu == gpu) {
      EndHolder(machine, slot, index);
    }
  }
}

// The driver's own settings: gone with it.
void ForgetSettings(Gpu& gpu) {
  gpu.compute_mode = 0;
  gpu.persistence_mode = 0;
  gpu.power_limit_mw = 0;
  gpu.timeslice = 0;
  gpu.energy_before_mj = 0;
}

}  // namespace

void AddEvent(Slot& slot,
              uint32_t gpu,
              uint64_t type,
              uint64_t data,
              uint32_t gpu_instance,
              uint32_t compute_instance) {
  if (slot.next_event == 0) slot.next_event = 1;
  Event& event = slot.events[slot.next_event % kMaxEvents];
  event = {slot.next_event,  type, data, SimulatedNow(slot.clock), gpu, gpu_instance,
           compute_instance, 0};
  slot.next_event += 1;
}

void AddXid(
    Slot& slot, uint32_t gpu, uint64_t xid, uint32_t gpu_instance, uint32_t compute_instance) {
  AddEvent(slot, gpu, kEventXid, xid, gpu_instance, compute_instance);
}

void FailWithXid(
    Slot& slot, uint32_t gpu, uint64_t xid, uint32_t gpu_instance, uint32_t compute_instance) {
  // NVIDIA's catalogue of XIDs: uncorrectable, contained, uncontained, and one that escaped.
  const bool of_memory = xid == 48 || xid == 94 || xid == 95 || xid == 140;
  Gpu& state = slot.gpus[gpu];
  if (of_memory && state.ecc_current != 0) {
    state.ecc_volatile[1] += 1;
    state.ecc_aggregate[1] += 1;
  }
  AddXid(slot, gpu, xid, gpu_instance, compute_instance);
}

void TellOfDriver(Slot& slot, uint32_t gpu, PciDriver before) {
  const PciDriver now = slot.gpus[gpu].pci_driver;
  if (now == before || (now != PciDriver::kNvidia && before != PciDriver::kNvidia)) return;
  AddEvent(slot, gpu, now == PciDriver::kNvidia ? kSystemEventBind : kSystemEventUnbind, 0);
  slot.events[(slot.next_event - 1) % kMaxEvents].system = 1;
}

void LoseGpu(Slot& slot, uint32_t gpu) {
  if (slot.gpus[gpu].lost != 0) return;
  AddXid(slot, gpu, 79);
  slot.gpus[gpu].lost = 1;
}

bool ResetGpu(const Machine& machine, Slot& slot, uint32_t gpu) {
  Gpu& state = slot.gpus[gpu];
  if (state.lost != 0) return false;
  EndHoldersOf(machine, slot, gpu);
  Restart(state);
  state.mig_current = state.mig_pending;
  state.resets += 1;
  return true;
}

void UnloadDriver(const Machine& machine, Slot& slot) {
  for (uint32_t gpu = 0; gpu < GpuCount(machine); ++gpu) {
    Gpu& state = slot.gpus[gpu];
    EndHoldersOf(machine, slot, gpu);
    Restart(state);
    ForgetSettings(state);
    if (machine.boards[gpu].mig_activation == MigActivation::kImmediate) state.mig_pending = 0;
    state.mig_current = state.mig_pending;
  }
  slot.driver_loaded = 0;
}

void LoadDriver(const Machine&, Slot& slot) {
  slot.driver_loaded = 1;
  slot.driver_loads += 1;
  slot.driver_loaded_ns = SimulatedNow(slot.clock);
}

void ReloadDriver(const Machine& machine, Slot& slot) {
  UnloadDriver(machine, slot);
  LoadDriver(machine, slot);
}

void Reboot(const Machine& machine, Slot& slot) {
  UnloadDriver(machine, slot);
  for (uint32_t gpu = 0; gpu < GpuCount(machine); ++gpu) {
    slot.gpus[gpu].lost = 0;
    slot.gpus[gpu].pci_driver = PciDriver::kNvidia;
  }
  memset(static_cast<void*>(slot.call_faults), 0, sizeof slot.call_faults);
  slot.version_mismatch = 0;
  slot.boot += 1;
  slot.booted_ns = SimulatedNow(slot.clock);
  NameBoot(machine, slot.boot, slot.boot_id);
  LoadDriver(machine, slot);
}

Gpu PluggedIn(const Board& board) {
  Gpu gpu{};
  gpu.ecc_current = gpu.ecc_pending = board.ecc.known != 0 ? board.ecc.value : 0;
  return gpu;
}

void FirstBoot(const Machine& machine, Slot& slot) {
  memset(static_cast<void*>(&slot), 0, sizeof slot);
  slot.clock.monotonic_ns = MonotonicNow();
  slot.next_incarnation = 1;
  slot.next_event = 1;
  slot.next_fault_id = 1;
  for (uint32_t gpu = 0; gpu < GpuCount(machine); ++gpu) {
    slot.gpus[gpu] = PluggedIn(machine.boards[gpu]);
  }
  slot.boot = 1;
  NameBoot(machine, slot.boot, slot.boot_id);
  LoadDriver(machine, slot);
}

void NameBoot(const Machine& machine, uint64_t boot, char* out) {
  char name[128];
  snprintf(name, sizeof name, "boot/%.63s/%llu/%llu", machine.node,
           static_cast<unsigned long long>(machine.seed), static_cast<unsigned long long>(boot));
  NameBasedUuid(name, 4, out);
}

}  // namespace partita::sim
