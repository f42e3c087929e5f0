#include "base/subprocess.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
// How long it may take to tidy up before that.
constexpr std::chrono::seconds kGrace{5};
// How long after it became true a stop is heard: no call waits for a process and for a flag.
constexpr std::chrono::milliseconds kBetweenLooks{50};

struct Pipe {
  UniqueFd reading, writing;
};

// Where standard input or output was closed, a new descriptor would get its number, and the child
// would take one for the other.
Result<UniqueFd> AboveStandard(UniqueFd fd) {
  if (fd.get() > STDERR_FILENO) return fd;
  UniqueFd above(fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!above.valid()) return ErrnoError("copy a descriptor");
  return above;
}

Result<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoError("make a pipe");
  UniqueFd first(ends[0]);
  UniqueFd second(ends[1]);
  TRY(reading, AboveStandard(std::move(first)));
  TRY(writing, AboveStandard(std::move(second)));
  return Pipe{std::move(reading), std::move(writing)};
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  // exec does not write to them; its signature is older than const.
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// What the child needs, made before the fork: after it, in a process that had other threads, only
// system calls are safe.
struct Prepared {
  std::vector<char*> arguments;
  char** environment;
  const char* directory;  // null: here
  int input, output;      // its standard input; its standard output and error
  pid_t parent;
  bool detached;  // goes on without us
};

// All descriptors from here on end with exec, also that through which the child tells why it
// failed.
void CloseOnExecFrom(int first) {
  if (syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  rlimit most{};  // before Linux 5.11
  if (getrlimit(RLIMIT_NOFILE, &most) != 0) return;
  for (rlim_t fd = static_cast<rlim_t>(first); fd < most.rlim_cur; ++fd) {
    fcntl(static_cast<int>(fd), F_SETFD, FD_CLOEXEC);
  }
}

void BecomeDefault() {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &usual, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// In the child. Returns only when it fails, with errno.
void Become(const Prepared& prepared) {
  BecomeDefault();
  if (prepared.detached) {
    if (setsid() < 0) return;
  } else {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != prepared.parent) _exit(127);  // it died before it could be noticed
  }
  if (dup2(prepared.input, STDIN_FILENO) < 0 || dup2(prepared.output, STDOUT_FILENO) < 0 ||
      dup2(prepared.output, STDERR_FILENO) < 0)
    return;
  CloseOnExecFrom(STDERR_FILENO + 1);
  if (prepared.directory != nullptr && chdir(prepared.directory) != 0) return;
  execvpe(prepared.arguments.front(), prepared.arguments.data(), prepared.environment);
}

// What a program reads: all of it is in the pipe before it starts.
Result<UniqueFd> MakeInput(const std::string& text) {
  if (text.empty()) {
    UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null.valid()) return ErrnoError("open /dev/null");
    return AboveStandard(std::move(null));
  }
  PARTITA_CHECK(text.size() <= kMostInput);
  TRY(pipe, MakePipe());
  if (write(pipe.writing.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return ErrnoError("write to a pipe");
  }
  return std::move(pipe.reading);
}

Result<pid_t> Spawn(const Prepared& prepared, const std::string& program) {
  TRY(why, MakePipe());
  const pid_t pid = fork();
  if (pid < 0) return ErrnoError("run " + program);
  if (pid == 0) {
    Become(prepared);
    const int error = errno;
    (void)!write(why.writing.get(), &error, sizeof error);
    _exit(127);
  }
  // Whoever of the two is first: a stop must find the group. A leader could not have its session.
  if (!prepared.detached) setpgid(pid, pid);
  why.writing.Reset();
  int error = 0;
  ssize_t count = 0;
  do count = read(why.reading.get(), &error, sizeof error);
  while (count < 0 && errno == EINTR);
  if (count != sizeof error) return pid;
  waitpid(pid, nullptr, 0);
  return ErrnoError("run " + program, error);
}

Result<pid_t> Spawn(const Subprocess& subprocess, int output) {
  Prepared prepared{.arguments = Pointers(subprocess.arguments),
                    .environment = environ,
                    .directory = nullptr,
                    .input = -1,
                    .output = output,
                    .parent = getpid(),
                    .detached = false};
  std::vector<char*> environment;
  if (subprocess.environment) {
    environment = Pointers(*subprocess.environment);
    prepared.environment = environment.data();
  }
  if (!subprocess.directory.empty()) prepared.directory = subprocess.directory.c_str();
  TRY(input, MakeInput(subprocess.input));
  prepared.input = input.get();
  return Spawn(prepared, subprocess.arguments.front());
}

// A parent that ignores SIGCHLD hands that on through exec, and the kernel then forgets children's
// statuses. Nobody who runs programs here can want that.
void HearOfChildren() {
  struct sigaction now {};
  if (sigaction(SIGCHLD, nullptr, &now) != 0) return;
  const bool ignored = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
  if (!ignored && (now.sa_flags & SA_NOCLDWAIT) == 0) return;
  if (ignored) now.sa_handler = SIG_DFL;
  now.sa_flags &= ~SA_NOCLDWAIT;
  sigaction(SIGCHLD, &now, nullptr);
}

// A child from its start to its end, with what it says.
class Child {
 public:
  Child(pid_t pid, UniqueFd process, UniqueFd output, const Subprocess& subprocess)
      : pid_(pid),
        process_(std::move(process)),
        output_(std::move(output)),
        most_output_(subprocess.most_output),
        stop_(subprocess.stop) {
    if (subprocess.limit) {
      deadline_ = Clock::now() + *subprocess.limit;
      result_.limit = *subprocess.limit;
    }
  }

  Result<SubprocessResult> Finish() {
    if (const Wait wait = WaitAndRead(); wait != Wait::kEnded) {
      result_.stopped = wait == Wait::kStop;
      result_.timed_out = wait == Wait::kDeadline;
      if (!End()) return Immortal();
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
  enum class Wait { kEnded, kDeadline, kStop };

  // False when it does not die.
  bool End() {
    stop_ = nullptr;  // it was heard
    kill(-pid_, SIGTERM);
    deadline_ = Clock::now() + kGrace;
    const bool willing = WaitAndRead() == Wait::kEnded;
    // Its children too: as long as it was not waited for, its number is nobody else's.
    kill(-pid_, SIGKILL);
    deadline_ = Clock::now() + kDeath;
    return willing || WaitAndRead() == Wait::kEnded;
  }

  [[nodiscard]] Error Immortal() const {
    const std::string why = result_.stopped
                                ? std::string("was told to stop")
                                : fmt::format("took longer than {:g} s",
                                              std::chrono::duration<double>(result_.limit).count());
    return MakeError(ErrorCode::kTimeout, "process {} {} and does not die when killed", pid_, why)
        .WithHint("it is stuck in the kernel: see the kernel log");
  }

  [[nodiscard]] bool Stopped() const { return stop_ != nullptr && stop_->load(); }

  // For poll: until the deadline, or the next look at the flag; nothing when the deadline passed.
  [[nodiscard]] std::optional<int> Timeout() const {
    std::optional<std::chrono::milliseconds> most;
    if (stop_ != nullptr) most = kBetweenLooks;
    if (deadline_) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now());
      if (left.count() <= 0) return std::nullopt;
      most = std::min({most.value_or(left), left, std::chrono::milliseconds(1'000'000)});
    }
    return most ? static_cast<int>(most->count()) : -1;
  }

  Wait WaitAndRead() {
    for (;;) {
      if (Stopped()) return Wait::kStop;
      const std::optional<int> timeout = Timeout();
      if (!timeout) return Wait::kDeadline;
      // A closed descriptor is negative, which poll passes over.
      std::array<pollfd, 2> waits = {pollfd{process_.get(), POLLIN, 0},
                                     pollfd{output_.get(), POLLIN, 0}};
      if (poll(waits.data(), waits.size(), *timeout) < 0) {
        if (errno == EINTR) continue;
        return Wait::kDeadline;
      }
      if (waits[1].revents != 0) ReadSome();
      if ((waits[0].revents & POLLIN) != 0) return Wait::kEnded;
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
  const std::atomic<bool>* stop_;
  std::optional<Clock::time_point> deadline_;
  SubprocessResult result_;
};

}  // namespace

std::string SubprocessResult::Describe() const {
  if (stopped) return "was stopped";
  if (timed_out) {
    return fmt::format("took longer than {:g} s and was killed",
                       std::chrono::duration<double>(limit).count());
  }
  if (signal != 0) return fmt::format("was killed by signal {}", signal);
  return fmt::format("ended with status {}", exit_status);
}

Result<SubprocessResult> Run(const Subprocess& subprocess) {
  PARTITA_CHECK(!subprocess.arguments.empty());
  HearOfChildren();
  TRY(output, MakePipe());
  // Only this end: the child's blocks as programs expect.
  if (fcntl(output.reading.get(), F_SETFL, O_NONBLOCK) != 0) return ErrnoError("make a pipe");
  TRY(pid, Spawn(subprocess, output.writing.get()));
  output.writing.Reset();
  UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) {
    Error error = ErrnoError("watch process " + std::to_string(pid));
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return error;
  }
  return Child(pid, std::move(process), std::move(output.reading), subprocess).Finish();
}

Result<pid_t> StartDetached(const Detached& program) {
  PARTITA_CHECK(!program.arguments.empty());
  HearOfChildren();
  constexpr mode_t kMode = 0644;
  UniqueFd file(
      open(program.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, kMode));
  if (!file.valid()) return ErrnoError("open " + program.output);
  TRY(output, AboveStandard(std::move(file)));
  TRY(input, MakeInput(""));
  std::vector<char*> environment = Pointers(program.environment);
  const Prepared prepared{.arguments = Pointers(program.arguments),
                          .environment = environment.data(),
                          .directory = "/",
                          .input = input.get(),
                          .output = output.get(),
                          .parent = getpid(),
                          .detached = true};
  return Spawn(prepared, program.arguments.front());
}

}  // namespace partita::base
