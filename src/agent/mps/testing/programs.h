// Processes by other programs' names.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <string_view>

#include <gtest/gtest.h>

#include "agent/mps/known_process.h"

namespace partita::agent::mps::testing {

// What a process is called it is called from its exec on. False, and the test has failed: it has
// not become that program.
[[nodiscard]] inline bool AwaitProgram(pid_t pid, std::string_view program) {
  for (int i = 0; i < 10'000; ++i) {
    if (OpenProgram(model::Pid(pid), program).ok()) return true;
    (void)poll(nullptr, 0, 1);
  }
  ADD_FAILURE() << "process " << pid << " has not become " << program;
  return false;
}

}  // namespace partita::agent::mps::testing
