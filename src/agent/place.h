// The directories that belong to one agent at a time: where it is reached, and what it keeps. Also
// to a command that stands in for one.
#pragma once

#include <optional>
#include <string>

#include "base/lock_file.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace partita::agent {

// Loop's thread only. Both end with this object, or with the process.
class Place {
 public:
  Place(std::string run_directory, std::string state_directory)
      : run_directory_(std::move(run_directory)), state_directory_(std::move(state_directory)) {}

  // Whether both are ours now. `command` tells others who we are: "partita agent". A state
  // directory that cannot be opened is nobody's: whoever needs it says why.
  [[nodiscard]] base::Result<bool> Take(const std::string& command);
  // Who keeps us from it, after Take gave false: "pid 4711 (partita agent)".
  [[nodiscard]] const std::string& holder() const { return holder_; }
  // The file that tells others of us is gone, or another's. To be taken again.
  [[nodiscard]] bool Lost() const { return lock_ && lock_->Lost(); }
  void GiveBack();

 private:
  [[nodiscard]] bool TakeState();

  const std::string run_directory_, state_directory_;
  std::optional<base::LockFile> lock_;
  base::UniqueFd state_;
  std::string holder_;
};

}  // namespace partita::agent
