// Real processes that take part in a node.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sim/state/layout.h"

namespace partita::sim::tool {

// A running process, held by a descriptor that can mean no other.
struct Process {
  pid_t pid = 0;  // as the caller sees it
  base::UniqueFd pidfd;
  std::string name;  // as it was started
  // Its pid in every PID namespace from the caller's down to its own.
  struct Alias {
    std::uint64_t pid_ns;
    std::uint32_t pid;
  };
  std::vector<Alias> aliases;
};

// kNotFound when there is no such process.
[[nodiscard]] base::Result<Process> FindProcess(pid_t pid);

// The process that holds the lock on byte `index` of the holders file: the workload itself or its
// guardian. 0: nobody, or nobody visible here. Never to be called by a process that holds such a
// lock: closing the file would drop it.
[[nodiscard]] pid_t LockOwner(const std::string& holders_path, std::uint32_t index);

// For a process that was told to end.
inline constexpr int kEndTimeoutMs = 5000;

// Sends the signal to the lock's owner and waits at most `timeout_ms` for its end.
[[nodiscard]] base::Result<void> EndLockOwner(const std::string& holders_path,
                                              std::uint32_t index,
                                              int signal,
                                              int timeout_ms);

// Processes that run in the view of the node at `root`, other than the caller.
[[nodiscard]] std::vector<Process> ProcessesInView(const std::string& root);

// "pid 12 (sleep)"
[[nodiscard]] std::string Describe(const Process& process);

}  // namespace partita::sim::tool
