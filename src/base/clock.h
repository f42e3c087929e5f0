// Time, as something that is handed over: whoever needs it gets a clock, and tests hand over one
// that they move themselves.
#pragma once

#include <chrono>

namespace partita::base {

class Clock {
 public:
  using Steady = std::chrono::steady_clock::time_point;
  using Wall = std::chrono::system_clock::time_point;

  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  // Never goes back and does not run while the machine is suspended: for deadlines and ages.
  [[nodiscard]] virtual Steady Now() const = 0;
  // What people call the time; it may jump either way. For logs and documents only.
  [[nodiscard]] virtual Wall WallNow() const = 0;
};

// The machine's. Any thread.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Steady Now() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] Wall WallNow() const override { return std::chrono::system_clock::now(); }
};

}  // namespace partita::base
