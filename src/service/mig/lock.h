// One changer at a time on a node: the agent, or a command line beside none. It is for the time of
// one change; that an agent runs is said by a lock of its own (agent.lock).
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/lock_file.h"
#include "base/result.h"

namespace partita::service::mig {

// Where the lock and other files of this boot are: PARTITA_RUN_DIR, else /run/partita.
[[nodiscard]] std::string RunDirectory();

// kBusy: "pid 4711 (partita mig apply)" is at it. `waited`: until the wait was ended.
[[nodiscard]] base::Error HeldError(const std::string& holder,
                                    const std::string& path,
                                    bool waited);

// /run/partita/change.lock, held until it is destroyed.
class ChangeLock {
 public:
  struct Request {
    std::string directory = RunDirectory();
    std::string command;                // "partita mig apply", told to whoever comes second
    bool wait = false;                  // until the holder is done
    std::atomic<bool>* stop = nullptr;  // ends the wait
    // Told once, when a wait begins, for whom: "pid 4711 (partita mig apply)".
    std::function<void(const std::string& holder)> waiting = nullptr;
  };

  // kBusy names the holder's pid and command.
  [[nodiscard]] static base::Result<ChangeLock> Acquire(const Request& request);

 private:
  explicit ChangeLock(base::LockFile file) : file_(std::move(file)) {}
  base::LockFile file_;
};

}  // namespace partita::service::mig
