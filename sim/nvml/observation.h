// One look at a GPU: who uses it, and what its sensors therefore show.
#pragma once

#include <stdint.h>

#include "sim/nvml/api.h"
#include "sim/nvml/readings_model.h"

namespace partita::sim::nvml {

// A process that is alive now.
struct Process {
  Holder holder;
  uint32_t pid;  // in the caller's PID namespace; 0: not visible from there
};

struct ProcessList {
  uint32_t count;
  uint32_t dead;  // entries of processes that have gone and nobody has reaped yet
  Process processes[kMaxHolders];
};

// The living processes on a GPU, or on the instance that a MIG device stands for. In the order of
// the state's table, so that two reads agree.
void ListProcesses(const Device& device, ProcessList* out);

// Bytes in use by processes on a GPU; for a MIG device by everyone in its GPU instance, since the
// compute instances of one share its memory.
uint64_t ProcessMemory(const Device& device);

Readings ReadSensors(const Device& device);

// Millijoules since the driver was loaded. Never goes back: a process that has died counts until it
// is reaped, and reaping adds what it used until then. Nobody is told of a death, so a read that
// notices one reaps, where it may write.
WideFact ReadEnergy(const Device& device);

}  // namespace partita::sim::nvml
