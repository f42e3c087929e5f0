#include "hook/container/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace partita::hook {
namespace {

base::Result<base::UniqueFd> Open(const std::string& path) {
  base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return base::ErrnoError(fmt::format("open {}", path));
  return fd;
}

}  // namespace

base::Result<MountNamespace> MountNamespace::Own() {
  TRY(fd, Open("/proc/self/ns/mnt"));
  return MountNamespace(std::move(fd));
}

base::Result<MountNamespace> MountNamespace::Of(std::int64_t pid) {
  TRY(fd, Open(fmt::format("/proc/{}/ns/mnt", pid)));
  return MountNamespace(std::move(fd));
}

base::Result<void> MountNamespace::Enter() const {
  if (setns(fd_.get(), CLONE_NEWNS) != 0)
    return base::ErrnoError("enter the container's mount namespace");
  return {};
}

bool MountNamespace::IsSame(const MountNamespace& other) const {
  struct stat own = {}, others = {};
  return fstat(fd_.get(), &own) == 0 && fstat(other.fd_.get(), &others) == 0 &&
         own.st_dev == others.st_dev && own.st_ino == others.st_ino;
}

}  // namespace partita::hook
