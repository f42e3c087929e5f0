#include "sim/nvml/readings_model.h"

#include "sim/nvml/nvml_abi.h"
#include "sim/state/mig.h"

namespace partita::sim::nvml {
namespace {

// Sensors are read anew every so often; between two reads they show the same.
constexpr uint64_t kPowerPeriodNs = 100'000'000;
constexpr uint64_t kThermalPeriodNs = 2'000'000'000;

// One stream of noise per sensor, so that power and temperature do not move in step.
enum class Sensor : uint64_t { kPower = 1, kTemperature = 2, kMemoryTemperature = 3 };

// SplitMix64's finalizer: every input bit reaches every output bit.
uint64_t Mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9;
  x ^= x >> 27;
  x *= 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// A number in [-amplitude, amplitude] that depends on nothing but its arguments.
int64_t Noise(uint64_t seed, uint32_t gpu, Sensor sensor, uint64_t period, int64_t amplitude) {
  const uint64_t key = Mix(seed + 0x9E3779B97F4A7C15 * (gpu + 1)) ^
                       Mix(static_cast<uint64_t>(sensor) + 0x9E3779B97F4A7C15 * (period + 1));
  const uint64_t span = 2 * static_cast<uint64_t>(amplitude) + 1;
  return static_cast<int64_t>(Mix(key) % span) - amplitude;
}

Fact Known(uint32_t value) { return {.known = 1, .value = value}; }

// Between two facts in proportion to the load; unknown if either end is.
Fact InProportion(const Fact& idle, const Fact& busy, uint32_t percent) {
  if (idle.known == 0 || busy.known == 0) return {};
  const int64_t span = static_cast<int64_t>(busy.value) - idle.value;
  return Known(static_cast<uint32_t>(idle.value + span * percent / 100));
}

uint32_t Shift(uint32_t value, int64_t by) {
  const int64_t shifted = value + by;
  return shifted < 0 ? 0 : static_cast<uint32_t>(shifted);
}

// Graphics clocks exist in steps (15 MHz on an H200), counted from the highest one down.
Fact OnStep(Fact clock, const Board& board) {
  if (clock.known == 0 || board.clock_max_graphics.known == 0) return clock;
  if (board.clock_step_graphics.known == 0 || board.clock_step_graphics.value == 0) return clock;
  if (clock.value >= board.clock_max_graphics.value) return clock;
  const uint32_t step = board.clock_step_graphics.value;
  const uint32_t below = board.clock_max_graphics.value - clock.value;
  return Known(board.clock_max_graphics.value - below / step * step);
}

Fact PowerLimit(const Board& board, const Gpu& state) {
  return state.power_limit_mw != 0 ? Known(state.power_limit_mw) : board.power_default_mw;
}

void ReadPower(
    const Machine& machine, uint32_t gpu, const Gpu& state, uint64_t now_ns, Readings* out) {
  const Board& board = machine.boards[gpu];
  out->power_limit_mw = PowerLimit(board, state);
  if (state.power_mw.known != 0) {
    out->power_mw = state.power_mw;
  } else {
    out->power_mw = InProportion(board.power_idle_mw, board.power_busy_mw, out->utilization.value);
    if (out->power_mw.known == 0) return;
    const int64_t amplitude = out->power_mw.value / 100;
    out->power_mw.value = Shift(out->power_mw.value, Noise(machine.seed, gpu, Sensor::kPower,
                                                           now_ns / kPowerPeriodNs, amplitude));
  }
  const uint32_t limit = out->power_limit_mw.value;
  if (out->power_limit_mw.known == 0) return;
  // An H200 under full load drew 690 W of 700 W and named the power cap as its limit: the driver
  // says so before the limit itself is reached.
  if (out->power_mw.value >= limit - limit / 50) {
    out->clock_reasons |= nvmlClocksEventReasonSwPowerCap;
  }
  if (state.power_mw.known == 0 && out->power_mw.value > limit) out->power_mw.value = limit;
}

void ReadTemperatures(
    const Machine& machine, uint32_t gpu, const Gpu& state, uint64_t now_ns, Readings* out) {
  const Board& board = machine.boards[gpu];
  const uint64_t period = now_ns / kThermalPeriodNs;
  out->temperature = InProportion(board.temp_idle, board.temp_busy, out->utilization.value);
  if (out->temperature.known != 0) {
    out->temperature.value =
        Shift(out->temperature.value, Noise(machine.seed, gpu, Sensor::kTemperature, period, 1));
  }
  // The memory warms up with the GPU; how far is not in any product's data.
  out->memory_temperature = board.temp_memory_idle;
  if (out->memory_temperature.known != 0 && out->temperature.known != 0) {
    const int64_t warmer = static_cast<int64_t>(out->temperature.value) - board.temp_idle.value;
    out->memory_temperature.value =
        Shift(board.temp_memory_idle.value,
              warmer + Noise(machine.seed, gpu, Sensor::kMemoryTemperature, period, 1));
  }
  if (state.temperature.known != 0) out->temperature = state.temperature;
  if (out->temperature.known != 0 && board.temp_slowdown.known != 0 &&
      out->temperature.value >= board.temp_slowdown.value) {
    out->clock_reasons |= nvmlClocksThrottleReasonHwSlowdown;
    out->clock_reasons |= nvmlClocksThrottleReasonHwThermalSlowdown;
  }
}

void ReadClocks(const Board& board, Readings* out) {
  const uint32_t percent = out->utilization.value;
  const bool idle = percent == 0;
  out->clock_graphics =
      OnStep(InProportion(board.clock_idle_graphics, board.clock_max_graphics, percent), board);
  out->clock_video = InProportion(board.clock_idle_video, board.clock_max_video, percent);
  // Memory has a few fixed clocks and no ramp.
  out->clock_memory = idle ? board.clock_idle_memory : board.clock_max_memory;
  if (board.performance_state_idle.known != 0) {
    out->performance_state = idle ? board.performance_state_idle : Known(NVML_PSTATE_0);
  }
  if (idle) out->clock_reasons |= nvmlClocksEventReasonGpuIdle;
}

}  // namespace

Readings ReadingsAt(
    const Machine& machine, uint32_t gpu, const Gpu& state, const Load& load, uint64_t now_ns) {
  Readings out{};
  out.utilization = state.utilization.known != 0 ? state.utilization : Known(load.gpu);
  out.memory_utilization =
      state.memory_utilization.known != 0 ? state.memory_utilization : Known(load.memory_bus);
  if (out.utilization.value > 100) out.utilization.value = 100;
  ReadPower(machine, gpu, state, now_ns, &out);
  ReadTemperatures(machine, gpu, state, now_ns, &out);
  ReadClocks(machine.boards[gpu], &out);
  return out;
}

void AddLoad(Load* load, const Holder& holder) {
  load->gpu += holder.utilization;
  if (load->gpu > 100) load->gpu = 100;
  load->memory_bus += holder.memory_utilization;
  if (load->memory_bus > 100) load->memory_bus = 100;
  load->memory_bytes += holder.memory_bytes;
}

uint64_t InstanceOverhead(const Board& board, const GpuInstance& instance) {
  if (instance.live == 0) return 0;
  const GiProfile* profile = FindGiProfile(board, instance.profile);
  return profile == nullptr ? 0 : profile->placement_size * kMebibyte;
}

uint64_t InstanceOverhead(const Board& board, const Gpu& state) {
  uint64_t sum = 0;
  for (const GpuInstance& instance : state.instances) sum += InstanceOverhead(board, instance);
  return sum;
}

}  // namespace partita::sim::nvml
