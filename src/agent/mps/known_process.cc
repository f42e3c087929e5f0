#include "agent/mps/known_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace partita::agent::mps {
namespace {

using base::ErrorCode;
using base::Result;
using base::UniqueFd;
using std::chrono::milliseconds;

// How long after it became true a stop is heard: no call waits for a process and for a flag.
constexpr milliseconds kBetweenStops{50};

// Of /proc/<pid>/stat, counted behind the name, which may have spaces and parentheses in it.
constexpr std::size_t kStartTime = 19;

// Of what the kernel calls a process: TASK_COMM_LEN less its end.
constexpr std::size_t kMostName = 15;

std::string ProcPath(model::Pid pid, std::string_view file) {
  return fmt::format("/proc/{}/{}", pid, file);
}

base::Error Ended(model::Pid pid) {
  return base::MakeError(ErrorCode::kNotFound, "process {} has ended", pid);
}

// The name of the program in its command line: another user may have called anything so, but not in
// a directory of ours.
bool RunsProgram(model::Pid pid, std::string_view program) {
  const Result<std::string> line = base::ReadFile(ProcPath(pid, "cmdline"));
  if (!line.ok()) return false;
  const std::string_view first = std::string_view(*line).substr(0, line->find('\0'));
  return first == program || first.ends_with("/" + std::string(program));
}

// The file that it runs, cut off.
bool IsNamed(model::Pid pid, std::string_view program) {
  const Result<std::string> name = base::ReadFile(ProcPath(pid, "comm"));
  return name.ok() && base::Trim(*name) == program.substr(0, kMostName);
}

// False also where that cannot be seen.
bool IsInOurPidNamespace(model::Pid pid) {
  struct stat its {};
  struct stat ours {};
  if (stat(ProcPath(pid, "ns/pid").c_str(), &its) != 0) return false;
  if (stat("/proc/self/ns/pid", &ours) != 0) return false;
  return its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
}

// Before what it is is looked at: from now on the number is this one's.
Result<UniqueFd> OpenAny(model::Pid pid) {
  UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid.value(), 0)));
  if (fd.valid()) return fd;
  if (errno == ESRCH) return Ended(pid);
  return base::ErrnoError(fmt::format("watch process {}", pid));
}

}  // namespace

Result<std::uint64_t> ReadStartTime(model::Pid pid) {
  const Result<std::string> stat = base::ReadFile(ProcPath(pid, "stat"));
  if (!stat.ok()) return Ended(pid);
  const std::size_t name = stat->rfind(')');
  if (name == std::string::npos) return Ended(pid);
  const std::vector<std::string_view> words =
      base::SplitWords(std::string_view(*stat).substr(name + 1));
  const auto time =
      words.size() > kStartTime ? base::ParseUnsigned(words[kStartTime]) : std::nullopt;
  if (time) return *time;
  return base::MakeError(ErrorCode::kInternal, "{} says no start time", ProcPath(pid, "stat"));
}

Result<UniqueFd> OpenProgram(model::Pid pid, std::string_view program) {
  TRY(fd, OpenAny(pid));
  if (!RunsProgram(pid, program)) return Ended(pid);
  return fd;
}

Result<UniqueFd> OpenOurProgram(model::Pid pid, std::string_view program) {
  TRY(fd, OpenAny(pid));
  const bool ours = IsInOurPidNamespace(pid) && IsNamed(pid, program);
  if (!ours || !RunsProgram(pid, program)) return Ended(pid);
  return fd;
}

Result<UniqueFd> OpenProcess(const service::mps::Process& process,
                             std::string_view boot_id,
                             std::string_view program) {
  if (process.boot_id != boot_id) return Ended(process.pid);
  TRY(fd, OpenProgram(process.pid, program));
  TRY(start_time, ReadStartTime(process.pid));
  if (start_time != process.start_time) return Ended(process.pid);
  return fd;
}

std::string OurPidNamespace() {
  Result<std::string> link = base::ReadLink("/proc/self/ns/pid");
  return link.ok() ? *std::move(link) : "";
}

bool HasVariable(model::Pid pid, std::string_view name, std::string_view value) {
  const Result<std::string> all = base::ReadFile(ProcPath(pid, "environ"));
  if (!all.ok()) return false;
  const std::string wanted = fmt::format("{}={}", name, value);
  for (std::string_view rest = *all; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    if (rest.substr(0, end) == wanted) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

bool WaitForEnd(int process, std::chrono::milliseconds limit, const std::atomic<bool>* stop) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    const milliseconds most = stop == nullptr ? left : std::min(left, kBetweenStops);
    pollfd wait{process, POLLIN, 0};
    const int count = poll(&wait, 1, static_cast<int>(std::max(most, milliseconds(0)).count()));
    if (count > 0) {
      Reap(process);
      return true;
    }
    if (count < 0 && errno != EINTR) return false;
    if (left.count() <= 0 || (stop != nullptr && *stop)) return false;
  }
}

void Reap(int process) {
  siginfo_t info{};
  // Whose child it is not, init waits for.
  (void)waitid(P_PIDFD, static_cast<id_t>(process), &info, WEXITED | WNOHANG);
}

void Signal(int process, int number) {
  (void)syscall(SYS_pidfd_send_signal, process, number, nullptr, 0);
}

}  // namespace partita::agent::mps
