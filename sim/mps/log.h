// Lines of the daemon's log: "[2026-11-15 11:45:32.353 Control   506] NEW UI".
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace partita::sim::mps {

// Who speaks: "Control", "Server", "Client" or "Other".
[[nodiscard]] std::string LogLine(std::string_view who, pid_t pid, std::string_view text);
// The second word of a line; empty: it is none of ours.
[[nodiscard]] std::string_view WhoOf(std::string_view line);

// Through the pipe that a daemon reads: lost where there is none, or it is full.
class PipeLog {
 public:
  explicit PipeLog(const std::string& pipe_directory);
  void Say(std::string_view who, pid_t pid, std::string_view text);

 private:
  base::UniqueFd pipe_;
};

// The daemon's own: standard output in the foreground, else two files by who speaks.
class DaemonLog {
 public:
  static DaemonLog ToStandardOutput();
  // False of `usable`: nothing can be written there.
  static DaemonLog ToFiles(const std::string& directory, bool* usable);

  void Say(std::string_view who, pid_t pid, std::string_view text);
  void Copy(std::string_view line);  // of another process, with its end

 private:
  base::UniqueFd control_, server_;
  bool foreground_ = false;
};

}  // namespace partita::sim::mps
