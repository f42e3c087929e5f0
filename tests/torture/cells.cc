#include "cells.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace partita::torture {
namespace {

using base::Result;

// A container as far as the state is concerned: own pids, own /proc. Its first process only
// collects orphans. `ready` is closed when the namespace is complete.
[[noreturn]] void BeFirstProcess(int ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGCHLD, SIG_IGN);
  const bool complete = mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                        mount("proc", "/proc", "proc", 0, nullptr) == 0;
  if (!complete || write(ready, "", 1) != 1) _exit(1);
  close(ready);
  for (;;) pause();
}

int OpenNamespace(pid_t pid, const char* kind) {
  return open(fmt::format("/proc/{}/ns/{}", pid, kind).c_str(), O_RDONLY | O_CLOEXEC);
}

}  // namespace

Cells::Cells(std::uint32_t cells, std::uint32_t workers, Body body)
    : cells_(cells),
      workers_(workers, -1),
      body_(std::move(body)),
      own_namespace_(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC)) {}

Cells::~Cells() {
  for (std::uint32_t cell = 1; cell < cells_.size(); ++cell) KillCell(cell);
  for (std::uint32_t worker = 0; worker < workers_.size(); ++worker) KillWorker(worker);
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  close(own_namespace_);
}

Result<void> Cells::StartCell(Cell* cell) {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return base::ErrnoError("pipe");
  // As fork, but into new namespaces: the C library has no name for it.
  const long pid =
      syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid < 0) return base::ErrnoError("clone into a new PID namespace (needs root)");
  if (pid == 0) BeFirstProcess(ready[1]);
  close(ready[1]);
  char byte = 0;
  const bool complete = read(ready[0], &byte, 1) == 1;
  close(ready[0]);
  cell->first = static_cast<pid_t>(pid);
  if (!complete) {
    return base::MakeError(base::ErrorCode::kDenied, "cannot mount /proc in a new PID namespace");
  }
  cell->pid_namespace = OpenNamespace(cell->first, "pid");
  cell->mount_namespace = OpenNamespace(cell->first, "mnt");
  return {};
}

Result<void> Cells::StartWorker(std::uint32_t worker) {
  const Cell& cell = cells_[worker % cells_.size()];
  if (cell.first > 0 && setns(cell.pid_namespace, CLONE_NEWPID) != 0) {
    return base::ErrnoError("enter a PID namespace");
  }
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (cell.first > 0 && setns(cell.mount_namespace, CLONE_NEWNS) != 0) _exit(1);
    _exit(body_(worker));
  }
  if (cell.first > 0 && setns(own_namespace_, CLONE_NEWPID) != 0) {
    return base::ErrnoError("return to the own PID namespace");
  }
  if (pid < 0) return base::ErrnoError("fork");
  workers_[worker] = pid;
  return {};
}

Result<void> Cells::Revive() {
  for (std::size_t cell = 1; cell < cells_.size(); ++cell) {
    if (cells_[cell].first < 0) TRY_VOID(StartCell(&cells_[cell]));
  }
  for (std::uint32_t worker = 0; worker < workers_.size(); ++worker) {
    if (workers_[worker] < 0) TRY_VOID(StartWorker(worker), "worker {}", worker);
  }
  return {};
}

void Cells::KillWorker(std::uint32_t worker) {
  if (workers_[worker] > 0) kill(workers_[worker], SIGKILL);
}

void Cells::KillCell(std::uint32_t cell) {
  Cell& killed = cells_[cell];
  if (killed.first < 0) return;
  kill(killed.first, SIGKILL);
  // It ends only after everything in its namespace; those that are our children wait to be reaped,
  // and a first process cannot be reaped before them.
  for (std::uint32_t worker = cell; worker < workers_.size();
       worker += static_cast<std::uint32_t>(cells_.size())) {
    if (workers_[worker] > 0) {
      siginfo_t info{};
      waitid(P_PID, static_cast<id_t>(workers_[worker]), &info, WEXITED | WNOWAIT);
    }
  }
  close(std::exchange(killed.pid_namespace, -1));
  close(std::exchange(killed.mount_namespace, -1));
  killed.first = -1;
}

std::vector<Cells::Death> Cells::Reap() {
  std::vector<Death> deaths;
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return deaths;
    const auto found = std::find(workers_.begin(), workers_.end(), pid);
    if (found == workers_.end()) continue;  // a first process
    *found = -1;
    deaths.push_back({static_cast<std::uint32_t>(found - workers_.begin()), status});
  }
}

std::uint32_t Cells::running() const {
  return static_cast<std::uint32_t>(
      std::count_if(workers_.begin(), workers_.end(), [](pid_t pid) { return pid > 0; }));
}

}  // namespace partita::torture
