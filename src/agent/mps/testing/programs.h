// Processes by other programs' names.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "agent/mps/known_process.h"

namespace partita::agent::mps::testing {

// A file of that name in there, for a process that the kernel, too, calls so. It sleeps.
inline std::string MakeProgram(const std::string& directory, const std::string& name) {
  std::string path = directory + "/" + name;
  EXPECT_EQ(symlink("/bin/sleep", path.c_str()), 0) << path;
  return path;
}

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
