#include "service/run/afterwards.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "base/unique_fd.h"

namespace partita::service::run {

namespace {

using base::ErrnoError;
using base::UniqueFd;

sigset_t Ends() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int each : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&ends, each);
  return ends;
}

// Everything but the one descriptor; what the program reads and writes must see its end.
void LetGo(int kept) {
  const UniqueFd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (nothing.valid()) dup2(nothing.get(), standard);
  }
  const auto first = static_cast<unsigned>(kept);
  syscall(SYS_close_range, 3U, std::max(first, 4U) - 1, 0);
  syscall(SYS_close_range, first + 1, ~0U, 0);
  if (chdir("/") != 0) _exit(1);
}

void WaitFor(int process) {
  pollfd ended{process, POLLIN, 0};
  while (poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
}

void Carry(const std::vector<std::string>& command) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  // execve changes nothing, and takes no constants.
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    char* nothing = nullptr;
    const sigset_t ends = Ends();
    sigprocmask(SIG_UNBLOCK, &ends, nullptr);
    execve(words[0], words.data(), &nothing);
    _exit(127);
  }
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// A cgroup has members as long as what was started in the background lives.
void Remove(const std::string& directory) {
  constexpr int kLongest = 5000;
  for (int wait = 1; rmdir(directory.c_str()) != 0 && errno == EBUSY;
       wait = std::min(wait * 2, kLongest))
    poll(nullptr, 0, wait);
}

[[noreturn]] void ClearWhenEnded(int process, const Leavings& leavings) {
  const sigset_t ends = Ends();
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  LetGo(process);
  WaitFor(process);
  if (!leavings.command.empty()) Carry(leavings.command);
  if (!leavings.sign_of_life.empty() && base::Exists(leavings.sign_of_life)) _exit(1);
  if (!leavings.tree.empty()) (void)base::RemoveTree(leavings.tree);
  for (const std::string& directory : leavings.directories) Remove(directory);
  _exit(0);
}

base::Error NoProcessError(int reason) {
  return ErrnoError("start the process that clears up afterwards", reason)
      .WithHint("end some programs, or allow more: ulimit -u, pids.max of the cgroup, TasksMax=");
}

}  // namespace

EndsHeld::EndsHeld() {
  const sigset_t ends = Ends();
  sigprocmask(SIG_BLOCK, &ends, &before_);
}

EndsHeld::~EndsHeld() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

base::Result<void> ClearAfterwards(const Leavings& leavings) {
  const UniqueFd self(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (!self.valid())
    return ErrnoError("watch for the end of this process").WithHint("this needs Linux 5.3");
  const pid_t child = fork();
  if (child < 0) return NoProcessError(errno);
  if (child == 0) {
    // Not the leader of its session: it gets no terminal by chance.
    setsid();
    const pid_t clearer = fork();
    if (clearer == 0) ClearWhenEnded(self.get(), leavings);
    _exit(clearer < 0 ? errno : 0);
  }
  int status = 0;  // it stays so where somebody has SIGCHLD ignored
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) return NoProcessError(WEXITSTATUS(status));
  return {};
}

}  // namespace partita::service::run
