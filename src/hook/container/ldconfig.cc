#include "hook/container/ldconfig.h"

#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "hook/container/confined.h"
#include "hook/container/image_facts.h"

namespace partita::hook {
namespace {

using base::ErrnoError;
using base::ErrorCode;
using base::MakeError;
using base::UniqueFd;

constexpr std::size_t kMostProgram = std::size_t{64} << 20;
constexpr time_t kMostSeconds = 30;

template <typename Header, typename Segment>
bool HasLoader(std::string_view file) {
  Header header = {};
  if (file.size() < sizeof header) return true;
  std::memcpy(&header, file.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Segment segment = {};
    const std::uint64_t at = std::uint64_t{header.e_phoff} + i * header.e_phentsize;
    if (header.e_phentsize < sizeof segment || at > file.size() ||
        file.size() - at < sizeof segment)
      return true;
    std::memcpy(&segment, file.data() + at, sizeof segment);
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

// Debian's ldconfig was for long a script around the program beside it.
base::Result<std::string> ProgramPath(std::string path) {
  if (path.starts_with('@')) path.erase(0, 1);
  if (!path.starts_with('/'))
    return MakeError(ErrorCode::kInvalid, "ldconfig is not named by its whole path: {}",
                     base::Quoted(path));
  if (base::Exists(path + ".real")) path += ".real";
  return path;
}

base::Result<UniqueFd> FileInMemory() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  constexpr unsigned kExecutable = 0x10;  // MFD_EXEC, Linux 6.3
  UniqueFd file(memfd_create("ldconfig", kFlags | kExecutable));
  if (!file.valid() && errno == EINVAL) file.Reset(memfd_create("ldconfig", kFlags));
  if (!file.valid()) return ErrnoError("make a file in memory for ldconfig");
  return file;
}

// By the kernel: its pages are never ours.
base::Result<UniqueFd> SealedCopy(const UniqueFd& program) {
  TRY(file, FileInMemory());
  for (std::size_t copied = 0;;) {
    const ssize_t count = sendfile(file.get(), program.get(), nullptr, kMostProgram);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoError("copy ldconfig into memory");
    if (count == 0) break;
    copied += static_cast<std::size_t>(count);
    if (copied > kMostProgram)
      return MakeError(ErrorCode::kInvalid, "ldconfig has more than {} bytes", kMostProgram);
  }
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return ErrnoError("seal the copy of ldconfig");
  return file;
}

// What is judged is what is executed.
base::Result<UniqueFd> SealedLdconfig(const std::string& named) {
  TRY(path, ProgramPath(named));
  const UniqueFd original(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!original.valid()) return ErrnoError(fmt::format("open {}", path));
  TRY(program, SealedCopy(original));
  std::array<char, 4096> beginning;
  const ssize_t length = pread(program.get(), beginning.data(), beginning.size(), 0);
  if (length < 0) return ErrnoError("read the copy of ldconfig");
  if (!IsStaticProgram({beginning.data(), static_cast<std::size_t>(length)}))
    return MakeError(ErrorCode::kNotFound,
                     "{} is no static program: it would be run by the image's loader", path);
  return program;
}

// The status of the child; nothing when it takes longer.
base::Result<std::optional<int>> WaitFor(pid_t child, const sigset_t& ends, time_t seconds) {
  timespec deadline = {};
  clock_gettime(CLOCK_MONOTONIC, &deadline);
  deadline.tv_sec += seconds;
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return std::optional(status);
    if (ended < 0 && errno != EINTR) return ErrnoError("wait for ldconfig");
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec >= deadline.tv_sec) return std::optional<int>();
    const timespec rest{deadline.tv_sec - now.tv_sec, 0};
    sigtimedwait(&ends, nullptr, &rest);
  }
}

void End(pid_t child) {
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// ldconfig opens what bears a library's name, and waits for ever where that is a FIFO. Looked for
// only when it takes its time: there are thousands of libraries.
base::Result<int> WaitToEnd(pid_t child,
                            const sigset_t& ends,
                            const base::RootDir& root,
                            const std::vector<std::string>& directories) {
  constexpr time_t kPatience = 2;
  TRY(early, WaitFor(child, ends, kPatience));
  if (early) return *early;
  const std::string fifo = FindFifo(root, directories);
  if (!fifo.empty()) {
    End(child);
    return MakeError(ErrorCode::kInvalid, "{} in {} is a FIFO: ldconfig would wait for it", fifo,
                     root.name());
  }
  TRY(late, WaitFor(child, ends, kMostSeconds - kPatience));
  if (late) return *late;
  End(child);
  return MakeError(ErrorCode::kTimeout, "ldconfig took longer than {} s and was killed",
                   kMostSeconds);
}

// In the child: who is left without its parent ends. Its parent's number is 0 in a namespace of its
// own, so that a pipe tells whether it died before.
void EndWithParent(const UniqueFd& parent_lives, UniqueFd& own_copy) {
  own_copy.Reset();
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  pollfd hung_up = {parent_lives.get(), 0, 0};
  if (poll(&hung_up, 1, 0) != 0) _exit(kNotConfined);
}

// What it said, or why it could not begin; the beginning of it.
std::string OutputOf(const UniqueFd& output) {
  std::array<char, 2048> text;
  const ssize_t length = pread(output.get(), text.data(), text.size(), 0);
  return length <= 0 ? ""
                     : std::string(base::Trim({text.data(), static_cast<std::size_t>(length)}));
}

base::Result<void> Judge(int status, const std::string& said) {
  const std::string reason = said.empty() ? "it said nothing" : said;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotConfined)
    return MakeError(ErrorCode::kUnavailable, "cannot isolate ldconfig: {}", reason);
  if (WIFEXITED(status))
    return MakeError(ErrorCode::kIo, "ldconfig ended with status {}: {}", WEXITSTATUS(status),
                     reason);
  return MakeError(ErrorCode::kIo, "ldconfig was killed by signal {}: {}", WTERMSIG(status),
                   reason);
}

}  // namespace

bool IsStaticProgram(std::string_view elf_file) {
  if (!elf_file.starts_with(ELFMAG) || elf_file.size() <= EI_CLASS) return false;
  return elf_file[EI_CLASS] == ELFCLASS32 ? !HasLoader<Elf32_Ehdr, Elf32_Phdr>(elf_file)
                                          : !HasLoader<Elf64_Ehdr, Elf64_Phdr>(elf_file);
}

base::Result<void> RunLdconfig(const base::RootDir& root, const LdconfigCall& call) {
  TRY(program, SealedLdconfig(call.path));
  const UniqueFd output(memfd_create("ldconfig-output", MFD_CLOEXEC));
  if (!output.valid()) return ErrnoError("make a file in memory");
  std::vector<std::string> arguments{"ldconfig", "-f", "/etc/ld.so.conf", "-C", "/etc/ld.so.cache"};
  arguments.insert(arguments.end(), call.directories.begin(), call.directories.end());

  int ends_of_pipe[2];
  if (pipe2(ends_of_pipe, O_CLOEXEC) != 0) return ErrnoError("make a pipe");
  const UniqueFd parent_lives(ends_of_pipe[0]);
  UniqueFd held_by_parent(ends_of_pipe[1]);

  sigset_t ends, before;
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  signal(SIGCHLD, SIG_DFL);
  sigprocmask(SIG_BLOCK, &ends, &before);
  // A new mount namespace has copies of all mounts: descriptors stay with the old ones, and only
  // the working directory goes along.
  if (fchdir(root.fd()) != 0) return ErrnoError(fmt::format("go to {}", root.name()));
  constexpr unsigned long kNamespaces =
      CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET;
  const auto child =
      static_cast<pid_t>(syscall(SYS_clone, kNamespaces | SIGCHLD, nullptr, nullptr, nullptr, 0UL));
  if (child == 0) {
    EndWithParent(parent_lives, held_by_parent);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    RunConfined(program.get(), output.get(), arguments);
  }
  const int reason = errno;
  if (chdir("/") != 0) return ErrnoError("go to /");
  if (child < 0)
    return ErrnoError("cannot isolate ldconfig: make namespaces", reason)
        .As(ErrorCode::kUnavailable);
  base::Result<int> status = WaitToEnd(child, ends, root, call.directories);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (!status.ok()) return std::move(status).error();
  return Judge(*status, OutputOf(output));
}

}  // namespace partita::hook
