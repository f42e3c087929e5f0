#include "sim/nvml/readings_model.h"

#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include "sim/nvml/nvml_abi.h"

namespace partita::sim::nvml {
namespace {

constexpr uint64_t kOneSecond = 1'000'000'000;

Fact Known(uint32_t value) { return {.known = 1, .value = value}; }

// A machine with one board whose readings are easy to compute by head.
class ReadingsModel : public testing::Test {
 protected:
  ReadingsModel() : machine_(std::make_unique<Machine>()), state_(std::make_unique<Gpu>()) {
    std::memset(machine_.get(), 0, sizeof(Machine));
    std::memset(state_.get(), 0, sizeof(Gpu));
    machine_->seed = 7;
    machine_->gpu_count = 2;
    for (uint32_t i = 0; i < 2; ++i) {
      Board& board = machine_->boards[i];
      board.power_default_mw = Known(700'000);
      board.power_idle_mw = Known(100'000);
      board.power_busy_mw = Known(500'000);
      board.temp_idle = Known(30);
      board.temp_busy = Known(70);
      board.temp_slowdown = Known(89);
      board.temp_memory_idle = Known(40);
      board.clock_max_graphics = Known(1980);
      board.clock_idle_graphics = Known(345);
      board.clock_step_graphics = Known(15);
      board.clock_max_memory = Known(5001);
      board.clock_idle_memory = Known(405);
      board.clock_max_video = Known(1545);
      board.clock_idle_video = Known(765);
      board.performance_state_idle = Known(8);
    }
  }

  Board& board() { return machine_->boards[0]; }

  Readings At(uint32_t percent, uint64_t now_ns = kOneSecond, uint32_t gpu = 0) const {
    return ReadingsAt(*machine_, gpu, *state_,
                      Load{.gpu = percent, .memory_bus = percent / 2, .memory_bytes = 0}, now_ns);
  }

  std::unique_ptr<Machine> machine_;
  std::unique_ptr<Gpu> state_;
};

bool Same(const Readings& a, const Readings& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

TEST_F(ReadingsModel, EqualInputsGiveEqualReadings) {
  EXPECT_TRUE(Same(At(50), At(50)));
  EXPECT_TRUE(Same(At(50, 1000 * kOneSecond), At(50, 1000 * kOneSecond)));
}

TEST_F(ReadingsModel, NoiseDependsOnTimeGpuAndSeed) {
  bool time = false;
  bool gpu = false;
  bool seed = false;
  for (uint64_t second = 0; second < 50; ++second) {
    const Readings now = At(50, second * kOneSecond);
    time = time || !Same(now, At(50, (second + 1) * kOneSecond));
    gpu = gpu || !Same(now, At(50, second * kOneSecond, 1));
    machine_->seed = 8;
    seed = seed || !Same(now, At(50, second * kOneSecond));
    machine_->seed = 7;
  }
  EXPECT_TRUE(time);
  EXPECT_TRUE(gpu);
  EXPECT_TRUE(seed);
}

TEST_F(ReadingsModel, PowerAndTemperatureFollowTheLoadWithinTheirNoise) {
  for (uint64_t second = 0; second < 200; ++second) {
    const Readings idle = At(0, second * kOneSecond);
    const Readings half = At(50, second * kOneSecond);
    EXPECT_NEAR(idle.power_mw.value, 100'000, 1'000);
    EXPECT_NEAR(half.power_mw.value, 300'000, 3'000);
    EXPECT_NEAR(idle.temperature.value, 30, 1);
    EXPECT_NEAR(half.temperature.value, 50, 1);
    EXPECT_NEAR(half.memory_temperature.value, 60, 2);
  }
}

TEST_F(ReadingsModel, ClocksRiseInStepsAndTheStateWithThem) {
  const Readings idle = At(0);
  EXPECT_EQ(idle.clock_graphics.value, 345);
  EXPECT_EQ(idle.clock_memory.value, 405);
  EXPECT_EQ(idle.clock_video.value, 765);
  EXPECT_EQ(idle.performance_state.value, 8);
  EXPECT_EQ(idle.clock_reasons, nvmlClocksEventReasonGpuIdle);

  const Readings half = At(50);
  EXPECT_EQ(half.clock_graphics.value % 15, 0);
  EXPECT_NEAR(half.clock_graphics.value, 1162, 15);
  EXPECT_EQ(half.clock_memory.value, 5001);
  EXPECT_EQ(half.performance_state.value, 0);
  EXPECT_EQ(half.clock_reasons, nvmlClocksEventReasonNone);
  EXPECT_EQ(At(100).clock_graphics.value, 1980);
}

TEST_F(ReadingsModel, ALimitHoldsPowerDownAndSaysSo) {
  state_->power_limit_mw = 250'000;
  const Readings now = At(100);
  EXPECT_EQ(now.power_limit_mw.value, 250'000);
  EXPECT_EQ(now.power_mw.value, 250'000);
  EXPECT_EQ(now.clock_reasons, nvmlClocksEventReasonSwPowerCap);
}

TEST_F(ReadingsModel, WhatIsSetByHandIsShown) {
  state_->temperature = Known(91);
  state_->power_mw = Known(123'456);
  state_->utilization = Known(77);
  state_->memory_utilization = Known(33);
  const Readings now = At(0);
  EXPECT_EQ(now.temperature.value, 91);
  EXPECT_EQ(now.power_mw.value, 123'456);
  EXPECT_EQ(now.utilization.value, 77);
  EXPECT_EQ(now.memory_utilization.value, 33);
  EXPECT_TRUE(now.clock_reasons & nvmlClocksThrottleReasonHwThermalSlowdown);
  EXPECT_FALSE(now.clock_reasons & nvmlClocksEventReasonGpuIdle);
}

TEST_F(ReadingsModel, WhatTheBoardDoesNotSayStaysUnknown) {
  std::memset(&board(), 0, sizeof(Board));
  const Readings now = At(50);
  EXPECT_EQ(now.power_mw.known, 0);
  EXPECT_EQ(now.power_limit_mw.known, 0);
  EXPECT_EQ(now.temperature.known, 0);
  EXPECT_EQ(now.memory_temperature.known, 0);
  EXPECT_EQ(now.clock_graphics.known, 0);
  EXPECT_EQ(now.performance_state.known, 0);
  EXPECT_EQ(now.utilization.value, 50);
}

TEST_F(ReadingsModel, LoadsAddUpToAFullGpuAtMost) {
  Holder holder{};
  holder.utilization = 70;
  holder.memory_utilization = 20;
  holder.memory_bytes = 1000;
  Load load{};
  AddLoad(&load, holder);
  AddLoad(&load, holder);
  EXPECT_EQ(load.gpu, 100);
  EXPECT_EQ(load.memory_bus, 40);
  EXPECT_EQ(load.memory_bytes, 2000);
}

TEST_F(ReadingsModel, InstancesTakeMemoryBeforeAnybodyUsesThem) {
  board().gi_profile_count = 1;
  board().gi_profiles[0].constant = NVML_GPU_INSTANCE_PROFILE_3_SLICE;
  board().gi_profiles[0].placement_size = 4;
  EXPECT_EQ(InstanceOverhead(board(), *state_), 0);
  state_->instances[1].live = 1;
  state_->instances[1].profile = NVML_GPU_INSTANCE_PROFILE_3_SLICE;
  state_->instances[2] = state_->instances[1];
  EXPECT_EQ(InstanceOverhead(board(), *state_), 8U * 1024 * 1024);
  state_->instances[2].profile = 99;  // a torn read must not end in a crash
  EXPECT_EQ(InstanceOverhead(board(), *state_), 4U * 1024 * 1024);
}

}  // namespace
}  // namespace partita::sim::nvml
