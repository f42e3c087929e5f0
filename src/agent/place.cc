#include "agent/place.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include <fmt/format.h>

#include "base/files.h"

namespace partita::agent {

base::Result<bool> Place::Take(const std::string& command) {
  if (!lock_ || lock_->Lost()) {
    TRY(file, base::LockFile::Open(base::JoinPath(run_directory_, "agent.lock")));
    lock_.reset();
    lock_.emplace(std::move(file));
  }
  TRY(ours, lock_->Try(command));
  if (!ours) holder_ = lock_->Holder();
  return ours && TakeState();
}

// The directory itself: whoever starts and finds all as it was writes nothing there.
bool Place::TakeState() {
  if (state_.valid()) return true;
  if (!base::MakeDirectories(state_directory_, 0700).ok()) return true;
  base::UniqueFd fd(open(state_directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (fd.valid() && flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return true;
    holder_ = fmt::format("an agent that is reached elsewhere and keeps its state in {}",
                          state_directory_);
    return false;
  }
  state_ = std::move(fd);
  return true;
}

void Place::GiveBack() {
  lock_.reset();
  state_.Reset();
}

}  // namespace partita::agent
