#include "base/lock_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace partita::base {
namespace {

constexpr std::uint64_t kMostPid = 1 << 22;  // the kernel's PID_MAX_LIMIT

bool IsAlive(std::uint64_t pid) { return kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM; }

}  // namespace

Result<LockFile> LockFile::Open(std::string path) {
  TRY_VOID(MakeDirectories(path.substr(0, path.rfind('/')), 0755));
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoError("open " + path);
  // One that an older program made.
  if (fchmod(fd.get(), 0600) != 0) return ErrnoError("close to others " + path);
  return LockFile(std::move(path), std::move(fd));
}

Result<bool> LockFile::Try(const std::string& command) {
  while (flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return false;
    return ErrnoError("lock " + path_);
  }
  held_ = true;
  const std::string line = fmt::format("{} {}\n", getpid(), command);
  if (ftruncate(fd_.get(), 0) != 0 ||
      pwrite(fd_.get(), line.data(), line.size(), 0) != static_cast<ssize_t>(line.size()))
    return ErrnoError("write " + path_);
  return true;
}

// The line may be that of a holder who was killed, until the next one has written its own; and
// whoever locks the file with another program writes none.
std::string LockFile::Holder() const {
  const Result<std::string> text = ReadFile(path_);
  const std::string_view line = text.ok() ? Trim(*text) : "";
  const std::size_t space = line.find(' ');
  const std::optional<std::uint64_t> pid = ParseUnsigned(line.substr(0, space));
  if (!pid || *pid > kMostPid || !IsAlive(*pid)) return "a process that has not said who it is";
  if (space == std::string_view::npos) return fmt::format("pid {}", line);
  return fmt::format("pid {} ({})", *pid, line.substr(space + 1));
}

bool LockFile::Lost() const {
  struct stat ours {};
  struct stat there {};
  if (fstat(fd_.get(), &ours) != 0) return false;
  if (stat(path_.c_str(), &there) != 0) return errno == ENOENT || errno == ENOTDIR;
  return ours.st_dev != there.st_dev || ours.st_ino != there.st_ino;
}

LockFile::~LockFile() {
  // Its name is nobody's from here on. Where that fails, the pid tells.
  if (fd_.valid() && held_) (void)!ftruncate(fd_.get(), 0);
}

}  // namespace partita::base
