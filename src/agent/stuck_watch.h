// A session with the driver that must close and cannot, because a call never comes back: how long
// that lasts, and when it is enough.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "hw/nvml/running_time.h"
#include "net/loop.h"

namespace partita::agent {

// Loop's thread only.
class StuckWatch {
 public:
  // For so long a call may yet come back.
  static constexpr std::chrono::seconds kPatience{60};

  struct Told {
    // Which calls keep a session open that must close; empty: none.
    std::function<std::string()> calls;
    // After kPatience of that, again after every further step while it lasts.
    std::function<void(const std::string& calls)> stuck;
    std::function<void()> over;  // after `stuck` was called
  };
  StuckWatch(net::Loop& loop, Told told);

  // To be called after each look; from then on it looks by itself until that is over. Time in which
  // this process did not run does not count.
  void Check();
  void Stop();

 private:
  void Step();
  void Begin();

  net::Loop& loop_;
  Told told_;
  std::unique_ptr<net::Timer> timer_;
  hw::nvml::RunningTime time_;
  std::chrono::nanoseconds lasted_{0};
  bool was_stuck_ = false;
};

}  // namespace partita::agent
