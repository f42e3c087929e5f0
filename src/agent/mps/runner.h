// Where MPS control daemons live: in the agent's own container or service, or beside it. What is
// the same wherever they do (directories, records, pids of the host) is in daemon.h.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/ids.h"
#include "service/mps/protocol.h"

namespace partita::agent::mps {

// A daemon to be started. The runner knows where nvidia-cuda-mps-control is, and adds PATH.
struct Launch {
  std::string domain;                    // its name, which IsDomainName
  std::vector<std::string> arguments;    // after the program: {"-f"}
  std::vector<std::string> environment;  // "NAME=value", all but PATH
  std::string output;                    // a file that what it says is appended to
  bool operator==(const Launch&) const = default;
};

// Any thread but the loop's, and several at once: it blocks, for seconds at most.
class Runner {
 public:
  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  virtual ~Runner() = default;

  // The daemon's pid in the host's namespace. It lives on when this and its owner end.
  [[nodiscard]] virtual base::Result<model::Pid> Start(const Launch& launch,
                                                       const std::atomic<bool>& stop) = 0;
  // What the daemon of these directories answers. kUnavailable: none is there, or it takes no
  // command; kTimeout: it does not answer. Neither is said of the runner: any other error is that
  // of asking. A command that it does not know is no error: look at the answer. `stop`, where there
  // is one, ends a command that runs (kTimeout).
  [[nodiscard]] virtual base::Result<std::string> Ask(const service::mps::Directories& directories,
                                                      std::string_view command,
                                                      const std::atomic<bool>* stop) const = 0;

  // Several, and their answers one after the other: at once, where that is one process less.
  [[nodiscard]] virtual base::Result<std::string> AskAll(
      const service::mps::Directories& directories,
      const std::vector<std::string>& commands,
      const std::atomic<bool>* stop) const {
    std::string all;
    for (const std::string& command : commands) {
      TRY(answer, Ask(directories, command, stop));
      all += answer;
    }
    return all;
  }

  // A tmpfs of half the memory at `path`, for containers' /dev/shm; one that is there stays. An
  // error where mounting is not permitted: containers then have a directory of the root's
  // filesystem.
  [[nodiscard]] virtual base::Result<void> MountShm(const std::string& path) = 0;
  virtual void UnmountShm(const std::string& path) = 0;

  // No daemon of that domain runs any more, if one did: what was kept of it may be forgotten.
  // Before each Start, and after an end.
  virtual void Ended(const std::string& domain) { (void)domain; }

  // Whether daemons can be started and asked at all: while they cannot, silence says nothing about
  // those that are there.
  [[nodiscard]] virtual base::Result<void> Reachable() const { return {}; }

  // Its owner goes: whoever waits in it comes back soon. Any thread.
  virtual void Abandon() {}
};

}  // namespace partita::agent::mps
