#include "sim/mps/pipe_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include <fmt/core.h>

#include "base/files.h"

namespace partita::sim::mps {
namespace {

constexpr char kPidFile[] = "/nvidia-cuda-mps-control.pid";
constexpr mode_t kAnybody = 0666, kOwners = 0755, kPipe = 0777;

base::Result<base::UniqueFd> Listen(const std::string& path, mode_t mode) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return base::MakeError(base::ErrorCode::kInvalid, "{} is too long for a socket", path);
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  base::UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  unlink(path.c_str());
  if (!fd.valid() ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path.c_str(), mode) != 0 || listen(fd.get(), SOMAXCONN) != 0) {
    return base::ErrnoError("listen on " + path);
  }
  return fd;
}

base::Result<base::UniqueFd> OpenLogPipe(const std::string& path) {
  unlink(path.c_str());
  if (mkfifo(path.c_str(), kPipe) != 0 || chmod(path.c_str(), kPipe) != 0) {
    return base::ErrnoError("make " + path);
  }
  // For writing too: it must not end when the last writer goes.
  base::UniqueFd fd(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return base::ErrnoError("open " + path);
  return fd;
}

bool Prepare(const std::string& directory, bool make, mode_t mode) {
  if (make && mkdir(directory.c_str(), mode) == 0 && chmod(directory.c_str(), mode) != 0) {
    return false;
  }
  struct stat about {};
  return stat(directory.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
         access(directory.c_str(), R_OK | W_OK | X_OK) == 0;
}

}  // namespace

bool PreparePipeDirectory(const std::string& directory, bool is_default) {
  return Prepare(directory, is_default, 0777);
}

bool PrepareLogDirectory(const std::string& directory, bool is_default) {
  return Prepare(directory, is_default, 0700);
}

base::Result<PipeFiles> OpenPipeFiles(const std::string& directory) {
  PipeFiles files;
  const std::string lock = directory + "/control_lock";
  files.lock = base::UniqueFd(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kAnybody));
  if (!files.lock.valid()) return base::ErrnoError("open " + lock);
  fchmod(files.lock.get(), kAnybody);
  if (flock(files.lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return base::MakeError(base::ErrorCode::kConflict, "another daemon holds {}", lock);
  }
  TRY(control, Listen(directory + "/control", kAnybody));
  TRY(privileged, Listen(directory + "/control_privileged", kOwners));
  TRY(log, OpenLogPipe(directory + "/log"));
  files.control = std::move(control);
  files.privileged = std::move(privileged);
  files.log = std::move(log);
  const std::string pid_file = directory + kPidFile;
  TRY_VOID(base::WriteFile(pid_file, fmt::format("{}", getpid()), kAnybody));
  if (chmod(pid_file.c_str(), kAnybody) != 0)
    return base::ErrnoError("set the mode of " + pid_file);
  return files;
}

void RemovePipeFiles(const std::string& directory) {
  unlink((directory + "/log").c_str());
  unlink((directory + kPidFile).c_str());
}

}  // namespace partita::sim::mps
