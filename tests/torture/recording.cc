#include "recording.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

#include "checker.h"

namespace partita::torture {
namespace {

using base::Error;
using base::ErrorCode;
using base::MakeError;
using base::Result;

struct Child {
  pid_t pid;
  int output;
};

Result<Child> StartTraced(const std::vector<std::string>& command) {
  int output[2];
  if (pipe2(output, O_CLOEXEC) != 0) return base::ErrnoError("pipe");
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return base::ErrnoError("fork");
  if (pid == 0) {
    dup2(output[1], STDOUT_FILENO);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(output[1]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (!WIFSTOPPED(status)) return MakeError(ErrorCode::kNotFound, "cannot run {}", command[0]);
  ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_EXITKILL);
  return Child{pid, output[0]};
}

// Lets the child go on; an error unless it then stops with SIGTRAP.
Result<void> Resume(pid_t pid, __ptrace_request request) {
  int status = 0;
  if (ptrace(request, pid, nullptr, nullptr) != 0 || waitpid(pid, &status, 0) != pid) {
    return base::ErrnoError("ptrace");
  }
  if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
    return MakeError(ErrorCode::kInternal, "the client ended or was signalled: status {:#x}",
                     status);
  }
  return {};
}

// A breakpoint instruction, as opposed to the end of a single step.
bool AtBreakpoint(pid_t pid) {
  siginfo_t info{};
  ptrace(PTRACE_GETSIGINFO, pid, nullptr, &info);
  return info.si_code == SI_KERNEL;
}

// The parts of the state that may change, watched through a private copy.
class Watch {
 public:
  explicit Watch(const StateView& view) : base_(reinterpret_cast<const char*>(&view.file())) {
    const std::uint64_t slot = UsedBytes(view.file().machine);
    for (const auto& [offset, size] :
         {std::pair<std::uint64_t, std::uint64_t>{0, sizeof(sim::FileHeader)},
          {offsetof(sim::StateFile, slots), slot},
          {offsetof(sim::StateFile, slots) + sizeof(sim::Slot), slot}}) {
      parts_.push_back({offset, std::string(base_ + offset, size)});
    }
  }

  std::vector<Patch> Changes() {
    std::vector<Patch> changes;
    for (Patch& part : parts_) {
      const char* now = base_ + part.offset;
      if (std::memcmp(now, part.bytes.data(), part.bytes.size()) == 0) continue;
      std::size_t first = 0, last = part.bytes.size() - 1;
      while (now[first] == part.bytes[first]) ++first;
      while (now[last] == part.bytes[last]) --last;
      changes.push_back({part.offset + first, std::string(now + first, last - first + 1)});
      std::memcpy(part.bytes.data() + first, now + first, last - first + 1);
    }
    return changes;
  }

 private:
  const char* base_;
  std::vector<Patch> parts_;
};

// A system call leaves its return address in rcx (x86-64). Other code may do so too, which costs
// one needless look at the files.
bool MayHaveCalledKernel(pid_t pid) {
  user_regs_struct registers{};
  ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
  return registers.rcx == registers.rip;
}

Result<void> Step(pid_t pid, const std::string& root, Watch* watch, Recording* recording) {
  TreeWatch files(root, kDriverTrees);
  for (;;) {
    TRY_VOID(Resume(pid, PTRACE_SINGLESTEP), "step {}", recording->steps);
    if (AtBreakpoint(pid)) return {};
    ++recording->steps;
    std::vector<Patch> changes = watch->Changes();
    bool redrawn = false;
    if (MayHaveCalledKernel(pid)) {
      ++recording->system_calls;
      redrawn = files.Changed();
      if (redrawn) recording->trees.push_back(ReadTree(root, kDriverTrees));
    }
    if (changes.empty() && !redrawn) continue;
    recording->points.push_back(
        {recording->steps, std::move(changes), recording->trees.size() - 1});
  }
}

std::string ReadToEnd(int fd) {
  std::string text;
  char buffer[256];
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(fd);
  return text;
}

}  // namespace

Result<Recording> Record(const std::vector<std::string>& command,
                         const std::string& root,
                         const StateView& view) {
  TRY(child, StartTraced(command));
  TRY_VOID(Resume(child.pid, PTRACE_CONT), "to the first breakpoint");
  Recording recording;
  recording.initial.assign(reinterpret_cast<const char*>(&view.file()), sizeof(sim::StateFile));
  recording.trees.push_back(ReadTree(root, kDriverTrees));
  recording.points.push_back({0, {}, 0});
  Watch watch(view);
  TRY_VOID(Step(child.pid, root, &watch, &recording));
  ptrace(PTRACE_DETACH, child.pid, nullptr, nullptr);
  const std::string answer = ReadToEnd(child.output);
  waitpid(child.pid, nullptr, 0);
  recording.result = answer.empty() ? -1 : std::stoi(answer);
  // Bytes on purpose, padding too: nobody may write there.
  const std::string_view now(reinterpret_cast<const char*>(&view.file()), sizeof(sim::StateFile));
  constexpr std::size_t kMachine = offsetof(sim::StateFile, machine);
  if (now.substr(kMachine, sizeof(sim::Machine)) !=
      std::string_view(recording.initial).substr(kMachine, sizeof(sim::Machine))) {
    return MakeError(ErrorCode::kInternal, "the machine changed, which is fixed at `up`");
  }
  return recording;
}

void Replay::Apply(const Point& point) {
  for (const Patch& patch : point.patches) {
    std::memcpy(image_.data() + patch.offset, patch.bytes.data(), patch.bytes.size());
  }
}

}  // namespace partita::torture
