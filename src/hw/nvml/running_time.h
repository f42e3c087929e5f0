// Time in which this process ran.
#pragma once

#include <algorithm>
#include <chrono>

namespace partita::hw::nvml {

// A process that is stopped (SIGSTOP, the freezer, a suspended machine) sees its clock jump, and a
// healthy driver call would look late. Whoever watches calls looks at the clock in steps: of each
// step no more counts than it was meant to take, and a little. Pure; the clock is the caller's.
class RunningTime {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  // `slack`: how much later than meant a look may come because the machine is busy.
  explicit RunningTime(std::chrono::nanoseconds slack) : slack_(slack) {}

  // From here on it counts; the next look is meant to come after `step`.
  void Start(Instant now, std::chrono::nanoseconds step) {
    last_ = now;
    step_ = step;
  }

  // What counts since the last look. The next one is meant to come after `step`.
  [[nodiscard]] std::chrono::nanoseconds Look(Instant now, std::chrono::nanoseconds step) {
    const std::chrono::nanoseconds passed = now - last_;
    const std::chrono::nanoseconds most = step_ + slack_;
    Start(now, step);
    return std::clamp(passed, std::chrono::nanoseconds(0), most);
  }

 private:
  std::chrono::nanoseconds slack_;
  std::chrono::nanoseconds step_{0};
  Instant last_{};
};

}  // namespace partita::hw::nvml
