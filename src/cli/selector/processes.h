// Processes by what they were started as.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace partita::cli {

struct StartedProcess {
  pid_t pid = 0;
  std::string first_word;  // of its command line; empty: a thread of the kernel, or gone
  bool operator==(const StartedProcess&) const = default;
};
// By number.
[[nodiscard]] std::vector<StartedProcess> ReadProcesses(const std::string& proc);

// The first that was started with exactly this word; where there is none, with this name in some
// folder, or without the folder that `name` has: the reference compares the whole words, and never
// finds mps-control-daemon, which its own chart names with a path.
[[nodiscard]] std::optional<pid_t> FindProcess(std::span<const StartedProcess> processes,
                                               std::string_view name);

}  // namespace partita::cli
