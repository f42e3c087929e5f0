#include "sim/nvml/observation.h"

#include "sim/state/holders.h"
#include "sim/state/mig.h"
#include "sim/state/time.h"

namespace partita::sim::nvml {
namespace {

bool IsOn(const Device& device, const Holder& holder) {
  if (holder.live == 0 || holder.gpu != device.gpu) return false;
  return !device.is_mig || (holder.gpu_instance == device.gpu_instance &&
                            holder.compute_instance == device.compute_instance);
}

// Compute slices that a process may use, of those the GPU has.
uint32_t SlicesOf(const Device& device, const Holder& holder) {
  const Board& board = *device.board;
  if (holder.gpu_instance >= kMaxGpuInstances) return board.compute_slices;
  const GpuInstance& instance = device.state.instances[holder.gpu_instance];
  if (holder.compute_instance < kMaxComputeInstances) {
    return instance.compute[holder.compute_instance].size;
  }
  const GiProfile* profile = FindGiProfile(board, instance.profile);
  return profile == nullptr ? board.compute_slices : profile->slice_count;
}

// A process that keeps one of seven slices busy keeps a seventh of the GPU busy.
Holder AsShareOfGpu(const Device& device, const Holder& holder) {
  Holder share = holder;
  const uint32_t all = device.board->compute_slices;
  if (holder.gpu_instance == kNone || all == 0) return share;
  share.utilization = holder.utilization * SlicesOf(device, holder) / all;
  share.memory_utilization = holder.memory_utilization * SlicesOf(device, holder) / all;
  return share;
}

// Ends the entries of the dead; a process that may only read the state leaves them to others.
void ReapIfAnyDied(const Device& device) {
  ProcessList all;
  ListProcesses(device, &all);
  if (all.dead == 0) return;
  Change([](Slot& slot, const Machine& machine) {
    Reap(State().root(), machine, slot);
    return NVML_SUCCESS;
  });
}

Load LoadOn(const Device& device) {
  ProcessList all;
  ListProcesses(device, &all);
  Load load{};
  for (uint32_t i = 0; i < all.count; ++i) {
    AddLoad(&load, AsShareOfGpu(device, all.processes[i].holder));
  }
  return load;
}

}  // namespace

void ListProcesses(const Device& device, ProcessList* out) {
  uint32_t indices[kMaxHolders];
  const uint32_t candidates = State().Read([&](const Slot& slot) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < kMaxHolders; ++i) {
      if (!IsOn(device, slot.holders[i])) continue;
      out->processes[count].holder = slot.holders[i];
      indices[count++] = i;
    }
    return count;
  });
  // Outside the read: whether somebody lives is asked of the kernel, and takes a system call.
  out->count = out->dead = 0;
  for (uint32_t i = 0; i < candidates; ++i) {
    const Holder& holder = out->processes[i].holder;
    const HolderView view = LookAtHolder(State().root(), holder, indices[i]);
    if (!view.alive) {
      ++out->dead;
      continue;
    }
    Process& kept = out->processes[out->count++];
    if (&kept.holder != &holder) kept.holder = holder;
    kept.pid = view.pid;
  }
}

uint64_t ProcessMemory(const Device& device) {
  Device whole = device;
  whole.is_mig = false;
  ProcessList all;
  ListProcesses(whole, &all);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < all.count; ++i) {
    const Holder& holder = all.processes[i].holder;
    if (device.is_mig && holder.gpu_instance != device.gpu_instance) continue;
    sum += holder.memory_bytes;
  }
  return sum;
}

Readings ReadSensors(const Device& device) {
  return ReadingsAt(TheMachine(), device.gpu, device.state, LoadOn(device), ReadNow());
}

WideFact ReadEnergy(const Device& device) {
  const Board& board = *device.board;
  if (board.power_idle_mw.known == 0) return {};
  ReapIfAnyDied(device);
  const uint64_t millijoules = State().Read([&](const Slot& slot) {
    const uint64_t now = SimulatedNow(slot.clock);
    const uint64_t up = now > slot.driver_loaded_ns ? now - slot.driver_loaded_ns : 0;
    uint64_t sum = slot.gpus[device.gpu].energy_before_mj;
    sum += board.power_idle_mw.value * (up / 1000) / 1'000'000;
    for (const Holder& holder : slot.holders) {
      if (holder.live != 0 && holder.gpu == device.gpu) sum += HolderEnergyMj(board, holder, now);
    }
    return sum;
  });
  return {.known = 1, .value = millijoules};
}

}  // namespace partita::sim::nvml
