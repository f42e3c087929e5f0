#include "sim/tool/building.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/core.h>

#include "base/files.h"
#include "base/text.h"

namespace partita::sim::tool {
namespace {

// The kernel drops the lock with its maker: what can be locked has no maker any more.
base::Result<base::UniqueFd> Lock(const std::string& path) {
  base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return base::ErrnoError("open " + path);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return base::ErrnoError("lock " + path);
  return fd;
}

// Held by whoever looks for leftovers and by whoever makes a scaffold: between being made and being
// locked by its maker, a scaffold looks like a leftover.
base::Result<base::UniqueFd> TakeTurn(const std::string& directory) {
  base::UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return base::ErrnoError("open " + directory);
  while (flock(fd.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return base::ErrnoError("lock " + directory);
  }
  return fd;
}

}  // namespace

base::Result<Scaffold> Scaffold::Start(const std::string& directory, const std::string& name) {
  TRY_VOID(base::MakeDirectories(directory, 0755));
  TRY(turn, TakeTurn(directory));
  RemoveLeftovers(directory);
  std::string path = fmt::format("{}/.up-{}.{}", directory, name, getpid());
  if (mkdir(path.c_str(), 0755) != 0) return base::ErrnoError("make " + path);
  TRY(lock, Lock(path));
  return Scaffold(directory, name, std::move(path), std::move(lock));
}

Scaffold::~Scaffold() {
  // A failure to clean up is for the next command to repeat; the first error is the one to report.
  if (!path_.empty()) static_cast<void>(base::RemoveTree(path_).ok());
}

base::Result<void> Scaffold::Publish() {
  const std::string target = base::JoinPath(directory_, name_);
  if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno != EEXIST) return base::ErrnoError("rename " + path_ + " to " + target);
    return base::MakeError(base::ErrorCode::kConflict, "node {} is up already", base::Quoted(name_))
        .WithHint(fmt::format("take it down first: partita-sim down --node {}", name_));
  }
  path_.clear();
  return {};
}

base::Result<void> Demolish(const std::string& directory, const std::string& name) {
  const std::string source = base::JoinPath(directory, name);
  const std::string path = fmt::format("{}/.down-{}.{}", directory, name, getpid());
  TRY(lock, Lock(source));
  if (rename(source.c_str(), path.c_str()) != 0) return base::ErrnoError("rename " + source);
  TRY_VOID(base::RemoveTree(path));
  TRY(turn, TakeTurn(directory));
  RemoveLeftovers(directory);
  return {};
}

void RemoveLeftovers(const std::string& directory) {
  const auto names = base::ListDirectory(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!name.starts_with(".up-") && !name.starts_with(".down-")) continue;
    const std::string path = base::JoinPath(directory, name);
    const auto lock = Lock(path);
    // Whatever cannot be removed now is tried again by the next command.
    if (lock.ok()) static_cast<void>(base::RemoveTree(path).ok());
  }
}

}  // namespace partita::sim::tool
