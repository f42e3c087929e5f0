// One changer at a time on a node: the agent, or a command line beside none.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace partita::service::mig {

// Where the lock and other files of this boot are: PARTITA_RUN_DIR, else /run/partita.
[[nodiscard]] std::string RunDirectory();

// Held until it is destroyed; the kernel ends it with the process, however that ends. What the file
// says of its holder is for messages: the lock itself decides.
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

  // kBusy names the holder's pid and command. Only this user and root can hold it: whoever may read
  // a file may lock it.
  [[nodiscard]] static base::Result<ChangeLock> Acquire(const Request& request);

  ChangeLock(const ChangeLock&) = delete;
  ChangeLock& operator=(const ChangeLock&) = delete;
  ChangeLock(ChangeLock&&) = default;
  ChangeLock& operator=(ChangeLock&&) = delete;
  ~ChangeLock();

 private:
  explicit ChangeLock(base::UniqueFd fd) : fd_(std::move(fd)) {}
  base::UniqueFd fd_;
};

}  // namespace partita::service::mig
