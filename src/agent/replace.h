// This process made anew: the same program, arguments and environment under the same pid.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace partita::agent {

// What a process was started with; taken before anybody changes its environment.
struct Invoked {
  std::vector<std::string> arguments, environment;
  [[nodiscard]] static base::Result<Invoked> Now();
};

// Threads that the kernel lets nobody end, a driver's call in uninterruptible sleep, as "4711
// (driver/07:00.0)": a process with one cannot be replaced, it would wait for it for ever.
[[nodiscard]] std::vector<std::string> UnkillableThreads(
    const std::string& tasks = "/proc/self/task");

// Does not return unless it failed. Takes no descriptor but the standard ones along.
[[nodiscard]] base::Error ReplaceThisProcess(const Invoked& invoked);

}  // namespace partita::agent
