#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/text.h"
#include "base/unique_fd.h"
#include "sim/state/holders.h"
#include "sim/tool/commands.h"
#include "sim/tool/nodes.h"
#include "sim/tool/processes.h"
#include "sim/tool/show_document.h"
#include "sim/tool/start_program.h"
#include "sim/tool/workload_request.h"

namespace partita::sim::tool {
namespace {

using base::ErrorCode;

void SetName(std::string_view name, Holder& holder) {
  const std::size_t size = std::min(name.size(), sizeof holder.name - 1);
  name.copy(holder.name, size);
  holder.name[size] = '\0';
}

base::Error HoldError(int error) {
  if (error == ENOSPC) {
    return base::MakeError(ErrorCode::kConflict, "the node has {} workloads already", kMaxHolders);
  }
  if (error == ENOENT) {
    return base::MakeError(ErrorCode::kNotFound, "the instance was destroyed meanwhile");
  }
  return base::ErrnoError("enter the workload", error);
}

// This process becomes the workload, then the command: the lock stays over exec.
base::Result<void> BecomeWorkload(Node& node,
                                  Holder holder,
                                  const std::vector<std::string>& command) {
  SetName(command.front(), holder);
  int keep_open = -1;
  const int error = HoldAsSelf(node.store(), node.holders_path().c_str(), holder, &keep_open);
  if (error != 0) return HoldError(error);
  StartProgram(command);
}

void NameTarget(const Process& process, Holder& holder) {
  SetName(process.name, holder);
  // More levels than there is room for: the caller's and the innermost ones matter most.
  std::vector<Process::Alias> aliases = process.aliases;
  while (aliases.size() > std::size(holder.pids)) aliases.erase(aliases.begin() + 1);
  holder.pid_count = static_cast<std::uint32_t>(aliases.size());
  for (std::size_t i = 0; i < aliases.size(); ++i) {
    holder.pids[i].pid_ns = aliases[i].pid_ns;
    holder.pids[i].pid = aliases[i].pid;
  }
}

// A session of its own without this one's terminal: nothing that ends here ends it.
void LeaveSession() {
  setsid();
  const int null = open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
  if (null > STDERR_FILENO) close(null);
}

// What a child that leaves says first: whether it holds its workload, then why its command did not
// start. A command that starts closes the pipe.
struct Answer {
  enum class About : std::uint32_t { kHold, kStart } about;
  int error;
};

[[noreturn]] void Detach(Node& node,
                         const Holder& holder,
                         const std::vector<std::string>& command,
                         int answer) {
  LeaveSession();
  int keep_open = -1;
  Answer said{Answer::About::kHold,
              HoldAsSelf(node.store(), node.holders_path().c_str(), holder, &keep_open)};
  if (said.error == 0) said = {Answer::About::kStart, TryProgram(command)};
  static_cast<void>(write(answer, &said, sizeof said) == sizeof said);
  _exit(1);
}

// Returns when the workload is there: the command has taken the child's place.
base::Result<void> StartDetached(Node& node,
                                 Holder holder,
                                 const std::vector<std::string>& command) {
  SetName(command.front(), holder);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::ErrnoError("make a pipe");
  const base::UniqueFd answer(ends[0]);
  base::UniqueFd question(ends[1]);
  const pid_t child = fork();
  if (child < 0) return base::ErrnoError("start the workload");
  if (child == 0) Detach(node, holder, command, question.get());
  question.Reset();
  Answer said{};
  const ssize_t size = read(answer.get(), &said, sizeof said);
  if (size < 0) return base::ErrnoError("wait for the workload");
  if (size == sizeof said) {
    waitpid(child, nullptr, 0);
    if (said.about == Answer::About::kHold) return HoldError(said.error);
    return base::ErrnoError("run " + command.front(), said.error);
  }
  fmt::print("{}\n", child);
  return {};
}

// The guardian: holds the lock while the process lives. Ended by SIGTERM or by the process's end;
// either way the kernel drops the lock.
[[noreturn]] void Guard(Node& node, const Process& process, const Holder& holder, int answer) {
  LeaveSession();
  if (chdir("/") != 0) _exit(1);
  std::signal(SIGHUP, SIG_IGN);
  int keep_open = -1;
  const int error = HoldGuarded(node.store(), node.holders_path().c_str(), holder, &keep_open);
  if (write(answer, &error, sizeof error) != sizeof error || error != 0) _exit(1);
  close(answer);
  pollfd wait{process.pidfd.get(), POLLIN, 0};
  while (poll(&wait, 1, -1) < 0 && errno == EINTR) {
  }
  _exit(0);
}

base::Result<void> GuardProcess(Node& node, Holder holder, const std::string& pid_text) {
  const auto number = base::ParseUnsigned(pid_text);
  if (!number || *number == 0 || *number > 0x7FFFFFFF) {
    return base::MakeError(ErrorCode::kInvalid, "--pid: not a pid: {}", base::Quoted(pid_text));
  }
  TRY(process, FindProcess(static_cast<pid_t>(*number)));
  NameTarget(process, holder);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::ErrnoError("make a pipe");
  const base::UniqueFd answer(ends[0]);
  base::UniqueFd question(ends[1]);
  const pid_t child = fork();
  if (child < 0) return base::ErrnoError("start the guardian");
  if (child == 0) Guard(node, process, holder, question.get());
  question.Reset();
  int error = 0;
  if (read(answer.get(), &error, sizeof error) != sizeof error) {
    return base::MakeError(ErrorCode::kInternal, "the guardian of process {} ended at once",
                           *number);
  }
  if (error != 0) return HoldError(error);
  fmt::print("{} is bound to GPU {}; guardian {}\n", Describe(process), holder.gpu, child);
  return {};
}

base::Result<void> StartWork(const base::Invocation& invocation) {
  const std::optional<std::string> pid = invocation.Get("pid");
  if (pid.has_value() == !invocation.rest().empty()) {
    return base::MakeError(ErrorCode::kInvalid, "{}",
                           pid ? "--pid and a command were given: which one?"
                               : "what runs? Give --pid or a command after --");
  }
  const bool detach = invocation.Has("detach");
  if (pid && detach) {
    return base::MakeError(ErrorCode::kInvalid, "--detach and --pid were given: which one?")
        .WithHint("--detach starts a command; a process that runs already needs none");
  }
  TRY(node, Node::Open(invocation));
  TRY(holder, ReadWorkload(invocation, node->machine(), *node->Snapshot()));
  if (pid) return GuardProcess(*node, holder, *pid);
  if (detach) return StartDetached(*node, holder, invocation.rest());
  return BecomeWorkload(*node, holder, invocation.rest());
}

base::Result<std::vector<std::uint32_t>> ChooseWorkloads(const base::Invocation& invocation,
                                                         Node& node,
                                                         const Slot& slot) {
  std::vector<std::uint32_t> chosen;
  const bool all = invocation.Has("all");
  if (all == !invocation.arguments().empty()) {
    return base::MakeError(ErrorCode::kInvalid, "stop what? Give workload ids or --all")
        .WithHint("partita-sim workload list names them");
  }
  for (std::uint32_t i = 0; all && i < kMaxHolders; ++i) {
    if (slot.holders[i].live != 0) chosen.push_back(i);
  }
  for (const std::string& text : invocation.arguments()) {
    const auto id = base::ParseUnsigned(text);
    if (!id || *id >= kMaxHolders || slot.holders[*id].live == 0) {
      return base::MakeError(ErrorCode::kNotFound, "no workload {} on node {}", base::Quoted(text),
                             base::Quoted(node.name()))
          .WithHint("partita-sim workload list names them");
    }
    chosen.push_back(static_cast<std::uint32_t>(*id));
  }
  return chosen;
}

base::Result<void> Stop(const base::Invocation& invocation) {
  TRY(node, Node::Open(invocation));
  const std::unique_ptr<Slot> slot = node->Snapshot();
  TRY(chosen, ChooseWorkloads(invocation, *node, *slot));
  const int signal = invocation.Has("kill") ? SIGKILL : SIGTERM;
  for (const std::uint32_t index : chosen) {
    TRY_VOID(EndLockOwner(node->holders_path(), index, signal, kEndTimeoutMs), "workload {}",
             index);
  }
  // Frees the entries, so that who waits for a change sees it.
  return node->Change([](const Machine&, Slot&) { return base::Result<void>(); });
}

}  // namespace

int RunWorkloadStart(const base::Invocation& invocation) { return Finish(StartWork(invocation)); }

int RunWorkloadList(const base::Invocation& invocation) {
  const auto node = Node::Open(invocation);
  if (!node.ok()) return Report(node.error());
  return Print(invocation, WorkloadsDocument(**node, *(*node)->Snapshot()), WorkloadsText);
}

int RunWorkloadStop(const base::Invocation& invocation) { return Finish(Stop(invocation)); }

}  // namespace partita::sim::tool
