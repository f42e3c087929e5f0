#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/unique_fd.h"

extern char** environ;

namespace partita::base {
namespace {

using Clock = std::chrono::steady_clock;

// How long a killed process may take to die. One that is stuck in the kernel does not, and must not
// take its parent with it.
constexpr std::chrono::seconds kDeath{2};

// What posix_spawn takes, and what has to be freed.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  void Prepare(int output, const std::string& directory) {
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    if (!directory.empty()) posix_spawn_file_actions_addchdir_np(&actions_, directory.c_str());
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_,
        static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP));
  }

  [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &actions_; }
  [[nodiscard]] const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  // exec does not write to them; its signature is older than const.
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Result<pid_t> Spawn(const Subprocess& subprocess, int output) {
  SpawnSettings settings;
  settings.Prepare(output, subprocess.directory);
  const std::vector<char*> arguments = Pointers(subprocess.arguments);
  std::vector<char*> environment;
  if (subprocess.environment) environment = Pointers(*subprocess.environment);
  pid_t pid = -1;
  const int error =
      posix_spawnp(&pid, arguments.front(), settings.actions(), settings.attributes(),
                   arguments.data(), subprocess.environment ? environment.data() : environ);
  if (error != 0) return ErrnoError("run " + subprocess.arguments.front(), error);
  return pid;
}

// A child from its start to its end, with what it says.
class Child {
 public:
  Child(pid_t pid, UniqueFd process, UniqueFd output, const Subprocess& subprocess)
      : pid_(pid),
        process_(std::move(process)),
        output_(std::move(output)),
        most_output_(subprocess.most_output) {
    if (subprocess.limit) {
      deadline_ = Clock::now() + *subprocess.limit;
      result_.limit = *subprocess.limit;
    }
  }

  Result<SubprocessResult> Finish() {
    while (!WaitAndRead(deadline_)) {
      if (result_.timed_out) {
        return MakeError(ErrorCode::kTimeout,
                         "process {} took longer than {} s and does not die when killed", pid_,
                         std::chrono::duration<double>(result_.limit).count())
            .WithHint("it is stuck in the kernel: see the kernel log");
      }
      result_.timed_out = true;
      kill(-pid_, SIGKILL);
      deadline_ = Clock::now() + kDeath;
    }
    Drain();
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0) {
      return ErrnoError("wait for process " + std::to_string(pid_));
    }
    if (info.si_code == CLD_EXITED)
      result_.exit_status = info.si_status;
    else
      result_.signal = info.si_status;
    return std::move(result_);
  }

 private:
  // True when the process ended, false when the deadline passed.
  bool WaitAndRead(std::optional<Clock::time_point> deadline) {
    for (;;) {
      int timeout = -1;
      if (deadline) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
        if (left.count() <= 0) return false;
        timeout = static_cast<int>(std::min<std::int64_t>(left.count(), 1'000'000));
      }
      // A closed descriptor is negative, which poll passes over.
      std::array<pollfd, 2> waits = {pollfd{process_.get(), POLLIN, 0},
                                     pollfd{output_.get(), POLLIN, 0}};
      if (poll(waits.data(), waits.size(), timeout) < 0 && errno != EINTR) return false;
      if (waits[1].revents != 0) ReadSome();
      if ((waits[0].revents & POLLIN) != 0) return true;
    }
  }

  // Grandchildren may keep the pipe open; what they write later is not waited for.
  void Drain() {
    while (output_.valid() && ReadSome()) {
    }
  }

  // False when nothing is there now.
  bool ReadSome() {
    std::array<char, 4096> buffer;
    const ssize_t count = read(output_.get(), buffer.data(), buffer.size());
    if (count < 0) return errno == EINTR;
    if (count == 0) {
      output_.Reset();
      return false;
    }
    result_.output.append(buffer.data(), static_cast<std::size_t>(count));
    if (result_.output.size() > most_output_) {
      result_.output.erase(0, result_.output.size() - most_output_);
      result_.cut = true;
    }
    return true;
  }

  pid_t pid_;
  UniqueFd process_;
  UniqueFd output_;
  std::size_t most_output_;
  std::optional<Clock::time_point> deadline_;
  SubprocessResult result_;
};

}  // namespace

std::string SubprocessResult::Describe() const {
  if (timed_out) {
    return fmt::format("took longer than {:g} s and was killed",
                       std::chrono::duration<double>(limit).count());
  }
  if (signal != 0) return fmt::format("was killed by signal {}", signal);
  return fmt::format("ended with status {}", exit_status);
}

Result<SubprocessResult> Run(const Subprocess& subprocess) {
  PARTITA_CHECK(!subprocess.arguments.empty());
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return ErrnoError("make a pipe");
  UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  // The child's end blocks as programs expect; the flag is of the end, not of the descriptor.
  if (fcntl(writing.get(), F_SETFL, 0) != 0) return ErrnoError("make a pipe");
  TRY(pid, Spawn(subprocess, writing.get()));
  writing.Reset();
  UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) {
    Error error = ErrnoError("watch process " + std::to_string(pid));
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return error;
  }
  return Child(pid, std::move(process), std::move(reading), subprocess).Finish();
}

}  // namespace partita::base
