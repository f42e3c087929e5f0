#include "service/mig/lock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace partita::service::mig {
namespace {

constexpr std::chrono::milliseconds kBetweenTries{50};

bool Stopped(const ChangeLock::Request& request) {
  return request.stop != nullptr && request.stop->load();
}

// "pid 4711 (partita mig apply)", from the file of a lock that somebody holds.
std::string Holder(const std::string& path) {
  const base::Result<std::string> text = base::ReadFile(path);
  const std::string_view line = text.ok() ? base::Trim(*text) : "";
  const std::size_t space = line.find(' ');
  // Between taking the lock and writing there is a moment without a name.
  if (!base::ParseUnsigned(line.substr(0, space))) return "a process that has not said who it is";
  if (space == std::string_view::npos) return fmt::format("pid {}", line);
  return fmt::format("pid {} ({})", line.substr(0, space), line.substr(space + 1));
}

base::Result<void> WriteHolder(int fd, const std::string& path, const std::string& command) {
  const std::string line = fmt::format("{} {}\n", getpid(), command);
  if (ftruncate(fd, 0) != 0 ||
      pwrite(fd, line.data(), line.size(), 0) != static_cast<ssize_t>(line.size()))
    return base::ErrnoError("write " + path);
  return {};
}

}  // namespace

std::string RunDirectory() {
  const char* directory = getenv("PARTITA_RUN_DIR");
  return directory != nullptr && *directory != '\0' ? directory : "/run/partita";
}

base::Result<ChangeLock> ChangeLock::Acquire(const Request& request) {
  TRY_VOID(base::MakeDirectories(request.directory, 0755));
  const std::string path = base::JoinPath(request.directory, "agent.lock");
  base::UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) return base::ErrnoError("open " + path);
  // There is no waiting for a lock and for a signal at once, so it is tried again and again.
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return base::ErrnoError("lock " + path);
    if (!request.wait || Stopped(request)) {
      return base::MakeError(base::ErrorCode::kBusy, "{} is changing this node's GPUs",
                             Holder(path))
          .WithHint(request.wait ? "the wait for it was ended"
                                 : "try again when it is done, or wait for it with --wait");
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
  TRY_VOID(WriteHolder(fd.get(), path, request.command));
  return ChangeLock(std::move(fd));
}

}  // namespace partita::service::mig
