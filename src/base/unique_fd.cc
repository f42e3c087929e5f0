#include "base/unique_fd.h"

#include <unistd.h>

#include <cerrno>

namespace partita::base {

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) Reset(other.Release());
  return *this;
}

void UniqueFd::Reset(int fd) {
  if (fd_ >= 0) {
    const int saved = errno;
    // On Linux the descriptor is gone whatever close says; a second try could close a stranger's.
    close(fd_);
    errno = saved;
  }
  fd_ = fd;
}

}  // namespace partita::base
