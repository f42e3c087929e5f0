// What the sensors of a simulated GPU show: a pure function of the board, the state, the load that
// the processes on it make, the seed and simulated time. Equal inputs give equal readings, so with
// a frozen clock two reads are the same, and a run can be repeated.
#pragma once

#include <stdint.h>

#include "sim/state/layout.h"

namespace partita::sim::nvml {

inline constexpr uint64_t kMebibyte = uint64_t{1024} * 1024;

// What processes ask of a GPU or of one of its instances.
struct Load {
  uint32_t gpu;         // percent of the compute engines, at most 100
  uint32_t memory_bus;  // percent, at most 100
  uint64_t memory_bytes;
};

struct Readings {
  Fact utilization, memory_utilization;  // percent
  Fact power_mw;
  Fact power_limit_mw;
  Fact temperature, memory_temperature;            // Celsius
  Fact clock_graphics, clock_memory, clock_video;  // MHz
  Fact performance_state;
  uint64_t clock_reasons;  // nvmlClocksEventReason bits
};

Readings ReadingsAt(
    const Machine& machine, uint32_t gpu, const Gpu& state, const Load& load, uint64_t now_ns);

// Adds one process to a load; percentages stop at 100.
void AddLoad(Load* load, const Holder& holder);

// Memory that GPU instances take from their GPU before anybody uses them, in bytes. Published
// listings show a few MiB in use on idle instances; the amount here is the model's, one MiB a
// slice.
uint64_t InstanceOverhead(const Board& board, const GpuInstance& instance);
uint64_t InstanceOverhead(const Board& board, const Gpu& state);

}  // namespace partita::sim::nvml
