// Time in which this process ran.
#pragma once

#include <algorithm>
#include <chrono>

namespace partita::hw::nvml {

// A process that is stopped (SIGSTOP, the freezer, a suspended machine) sees its clock jump, and a
// healthy driver call would look late. Whoever waits does so in steps: of each step no more counts
// than it was meant to take, and a little. Pure: the clock is the caller's.
class RunningTime {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  // `slack`: how much longer than meant a step may take because the machine is busy.
  explicit RunningTime(std::chrono::nanoseconds slack) : slack_(slack) {}

  // A step that is meant to take `meant` begins.
  void Begin(Instant now, std::chrono::nanoseconds meant) {
    begun_ = now;
    meant_ = meant;
  }
  // How much of the step counts.
  [[nodiscard]] std::chrono::nanoseconds End(Instant now) const {
    const std::chrono::nanoseconds passed = now - begun_;
    return std::clamp(passed, std::chrono::nanoseconds(0), meant_ + slack_);
  }

 private:
  std::chrono::nanoseconds slack_;
  std::chrono::nanoseconds meant_{0};
  Instant begun_{};
};

}  // namespace partita::hw::nvml
