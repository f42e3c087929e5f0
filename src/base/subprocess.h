// Other programs, started without a shell, with a time limit and a bounded share of memory.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace partita::base {

struct Subprocess {
  // The program, by path or by name in PATH, and its arguments. Never empty.
  std::vector<std::string> arguments;
  // "NAME=value", exactly these; absent: as this process has it.
  std::optional<std::vector<std::string>> environment;
  std::string directory;                           // to run in; empty: here
  std::string input;                               // what it reads; at most kMostInput
  std::optional<std::chrono::milliseconds> limit;  // absent: as long as it takes
  const std::atomic<bool>* stop = nullptr;         // ends it when it becomes true
  std::size_t most_output = std::size_t{64} * 1024;
};

// What a pipe holds whatever the machine: written before the program starts, it keeps nobody
// waiting.
inline constexpr std::size_t kMostInput = 4096;

struct SubprocessResult {
  int exit_status = -1;    // -1: a signal ended it
  int signal = 0;          // that signal
  bool timed_out = false;  // it was ended because it took longer than the limit
  bool stopped = false;    // it was ended because it was told to stop
  // What it wrote to standard output and error, as it came: the end of it when it was too much.
  std::string output;
  bool cut = false;

  [[nodiscard]] bool Succeeded() const { return exit_status == 0 && !timed_out && !stopped; }
  // "ended with status 3", "was killed by signal 9", "took longer than 120 s and was killed", "was
  // stopped".
  [[nodiscard]] std::string Describe() const;
  std::chrono::milliseconds limit{0};  // for Describe
};

// Runs it to its end, in a process group of its own, so that a terminal's interrupt does not reach
// it half-way: only `stop` does. The limit and `stop` end the whole group, with SIGTERM and a
// moment later SIGKILL. It is killed when the calling thread dies, and so does not go on without
// anybody who holds a lock for it. It reads its input and no more, and inherits no descriptor.
// Errors: kNotFound when there is no such program, kDenied, kIo.
[[nodiscard]] Result<SubprocessResult> Run(const Subprocess& subprocess);

// A program that is to outlive this one: a session of its own, no descriptor of ours.
struct Detached {
  std::vector<std::string> arguments;    // as Subprocess
  std::vector<std::string> environment;  // exactly these
  std::string output;  // a file that what it writes is appended to; made where it is missing (0644)
};

// Its pid; it is this process's child, who has to wait for its end. Errors as of Run.
[[nodiscard]] Result<pid_t> StartDetached(const Detached& program);

}  // namespace partita::base
