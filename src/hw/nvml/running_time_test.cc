#include "hw/nvml/running_time.h"

#include <vector>

#include <gtest/gtest.h>

namespace partita::hw::nvml {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

struct Step {
  const char* name;
  milliseconds passed;  // on the clock
  milliseconds counted;
};

TEST(RunningTime, CountsNoMoreOfAStepThanItWasMeantToTake) {
  const std::vector<Step> steps = {
      {"woken early", milliseconds(3), milliseconds(3)},
      {"on time", milliseconds(50), milliseconds(50)},
      {"a busy machine", milliseconds(65), milliseconds(65)},
      {"stopped for an hour", milliseconds(3'600'000), milliseconds(70)},
      {"on time again", milliseconds(50), milliseconds(50)},
      {"a clock that goes back", milliseconds(-5000), milliseconds(0)},
      {"no time at all", milliseconds(0), milliseconds(0)},
  };
  RunningTime time(milliseconds(20));
  RunningTime::Instant now{std::chrono::hours(1)};
  for (const Step& step : steps) {
    time.Begin(now, milliseconds(50));
    now += step.passed;
    EXPECT_EQ(time.End(now), step.counted) << step.name;
  }
}

TEST(RunningTime, AStopInEveryStepMakesALimitLaterNotSooner) {
  RunningTime time(milliseconds(20));
  RunningTime::Instant now{};
  nanoseconds counted{0};
  for (int i = 0; i < 10; ++i) {
    time.Begin(now, milliseconds(50));
    now += std::chrono::hours(24);
    counted += time.End(now);
  }
  EXPECT_EQ(counted, milliseconds(700));
}

}  // namespace
}  // namespace partita::hw::nvml
