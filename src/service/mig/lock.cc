#include "service/mig/lock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace partita::service::mig {
namespace {

// A wait inside flock() could not be ended by the flag of a signal handler without a race: a signal
// just before the call would be lost. So it is tried again.
constexpr std::chrono::milliseconds kBetweenTries{50};
constexpr std::uint64_t kMostPid = 1 << 22;  // the kernel's PID_MAX_LIMIT

bool Stopped(const ChangeLock::Request& request) {
  return request.stop != nullptr && request.stop->load();
}

bool IsAlive(std::uint64_t pid) { return kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM; }

// "pid 4711 (partita mig apply)", from the file of a lock that somebody holds. The line may be that
// of a holder who was killed, until the next one has written its own; and whoever locks the file
// with another program writes none.
std::string Holder(const std::string& path) {
  const base::Result<std::string> text = base::ReadFile(path);
  const std::string_view line = text.ok() ? base::Trim(*text) : "";
  const std::size_t space = line.find(' ');
  const std::optional<std::uint64_t> pid = base::ParseUnsigned(line.substr(0, space));
  if (!pid || *pid > kMostPid || !IsAlive(*pid)) return "a process that has not said who it is";
  if (space == std::string_view::npos) return fmt::format("pid {}", line);
  return fmt::format("pid {} ({})", *pid, line.substr(space + 1));
}

base::Result<void> WriteHolder(int fd, const std::string& path, const std::string& command) {
  const std::string line = fmt::format("{} {}\n", getpid(), command);
  if (ftruncate(fd, 0) != 0 ||
      pwrite(fd, line.data(), line.size(), 0) != static_cast<ssize_t>(line.size()))
    return base::ErrnoError("write " + path);
  return {};
}

base::Error SayWhoMay(base::Error error) {
  if (error.code() != base::ErrorCode::kDenied) return error;
  return std::move(error).WithHint("only root changes what GPUs are divided into");
}

}  // namespace

std::string RunDirectory() {
  const char* directory = getenv("PARTITA_RUN_DIR");
  return directory != nullptr && *directory != '\0' ? directory : "/run/partita";
}

base::Result<ChangeLock> ChangeLock::Acquire(const Request& request) {
  if (base::Result<void> made = base::MakeDirectories(request.directory, 0755); !made.ok())
    return SayWhoMay(std::move(made).error());
  const std::string path = base::JoinPath(request.directory, "agent.lock");
  base::UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return SayWhoMay(base::ErrnoError("open " + path));
  // One that an older program made.
  if (fchmod(fd.get(), 0600) != 0) return base::ErrnoError("close to others " + path);
  // There is no waiting for a lock and for a signal at once, so it is tried again and again.
  bool told = request.waiting == nullptr;
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return base::ErrnoError("lock " + path);
    if (!request.wait || Stopped(request)) {
      return base::MakeError(base::ErrorCode::kBusy, "{} is changing this node's GPUs",
                             Holder(path))
          .WithHint(fmt::format("{}; fuser -v {} tells more",
                                request.wait
                                    ? "the wait for it was ended"
                                    : "try again when it is done, or wait for it with --wait",
                                path));
    }
    if (!std::exchange(told, true)) request.waiting(Holder(path));
    std::this_thread::sleep_for(kBetweenTries);
  }
  TRY_VOID(WriteHolder(fd.get(), path, request.command));
  return ChangeLock(std::move(fd));
}

ChangeLock::~ChangeLock() {
  // Its name is nobody's from here on. Where that fails, the pid tells.
  if (fd_.valid()) (void)!ftruncate(fd_.get(), 0);
}

}  // namespace partita::service::mig
