// What a daemon writes to its log, as it comes: the kernel tells of each write, nobody polls.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "net/loop.h"

namespace partita::agent::mps {

// From the end of the file at Start on. A log that has grown to kMostLog is emptied: the daemon
// appends to it, so that it goes on at the front. Loop's thread only.
class LogTail {
 public:
  static constexpr off_t kMostLog = off_t{4} << 20;

  LogTail(net::Loop& loop, std::function<void(std::string_view line)> line);

  [[nodiscard]] base::Result<void> Start(const std::string& path);
  void Stop();

 private:
  void Read();

  net::Loop& loop_;
  std::function<void(std::string_view line)> line_;
  base::UniqueFd file_, inotify_;
  std::unique_ptr<net::Watch> watch_;
  off_t at_ = 0;
  std::string rest_;  // the beginning of a line
};

}  // namespace partita::agent::mps
