#include "sim/tool/processes.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <fmt/core.h>

#include "base/files.h"
#include "base/text.h"
#include "sim/tool/view.h"

namespace partita::sim::tool {
namespace {

// By system call: glibc has had wrappers only since 2.36.
int PidfdOpen(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }
int PidfdSend(int pidfd, int signal) {
  return static_cast<int>(syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

std::vector<std::uint32_t> NamespacePids(const std::string& status) {
  std::vector<std::uint32_t> pids;
  for (const std::string_view line : base::SplitLines(status)) {
    const auto rest = base::WithoutPrefix(line, "NSpid:");
    if (!rest) continue;
    for (const std::string_view word : base::SplitWords(*rest)) {
      pids.push_back(static_cast<std::uint32_t>(base::ParseUnsigned(word).value_or(0)));
    }
  }
  return pids;
}

// Inodes of the process's PID namespace and its parents, innermost first, at most `count`.
std::vector<std::uint64_t> NamespaceInodes(pid_t pid, std::size_t count) {
  std::vector<std::uint64_t> inodes;
  base::UniqueFd ns(open(fmt::format("/proc/{}/ns/pid", pid).c_str(), O_RDONLY | O_CLOEXEC));
  while (ns.valid() && inodes.size() < count) {
    struct stat status {};
    if (fstat(ns.get(), &status) != 0) break;
    inodes.push_back(status.st_ino);
    ns = base::UniqueFd(ioctl(ns.get(), NS_GET_PARENT));
  }
  return inodes;
}

std::vector<Process::Alias> Aliases(pid_t pid) {
  const auto status = base::ReadFile(fmt::format("/proc/{}/status", pid));
  const std::vector<std::uint32_t> pids =
      status.ok() ? NamespacePids(*status) : std::vector<std::uint32_t>{};
  const std::vector<std::uint64_t> inodes = NamespaceInodes(pid, pids.size());
  std::vector<Process::Alias> aliases;
  for (std::size_t i = 0; i < inodes.size(); ++i) {
    aliases.push_back({inodes[i], pids[pids.size() - 1 - i]});
  }
  std::ranges::reverse(aliases);
  return aliases;
}

std::string NameOf(pid_t pid) {
  const auto command = base::ReadFile(fmt::format("/proc/{}/cmdline", pid));
  if (command.ok() && !command->empty()) return command->substr(0, command->find('\0'));
  const auto name = base::ReadFile(fmt::format("/proc/{}/comm", pid));
  return name.ok() ? std::string(base::Trim(*name)) : "";
}

bool EndsWithin(const base::UniqueFd& pidfd, int timeout_ms) {
  pollfd wait{pidfd.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&wait, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace

base::Result<Process> FindProcess(pid_t pid) {
  Process process;
  process.pid = pid;
  process.pidfd = base::UniqueFd(PidfdOpen(pid));
  if (!process.pidfd.valid()) {
    if (errno == ESRCH || errno == EINVAL) {
      return base::MakeError(base::ErrorCode::kNotFound, "no process {} here", pid)
          .WithHint("give the pid as this PID namespace sees it");
    }
    return base::ErrnoError(fmt::format("open process {}", pid));
  }
  process.name = NameOf(pid);
  process.aliases = Aliases(pid);
  if (process.aliases.empty()) {
    return base::MakeError(base::ErrorCode::kNotFound, "process {} ended", pid);
  }
  return process;
}

pid_t LockOwner(const std::string& holders_path, std::uint32_t index) {
  const base::UniqueFd fd(open(holders_path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid()) return 0;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = index;
  lock.l_len = 1;
  if (fcntl(fd.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return 0;
  return std::max(lock.l_pid, 0);
}

base::Result<void> EndLockOwner(const std::string& holders_path,
                                std::uint32_t index,
                                int signal,
                                int timeout_ms) {
  const pid_t pid = LockOwner(holders_path, index);
  if (pid == 0) return {};
  const base::UniqueFd pidfd(PidfdOpen(pid));
  if (!pidfd.valid()) return {};  // ended meanwhile
  // Still the owner: so the descriptor means it and no later process of the same pid.
  if (LockOwner(holders_path, index) != pid) return {};
  if (PidfdSend(pidfd.get(), signal) != 0 && errno != ESRCH) {
    return base::ErrnoError(fmt::format("signal process {}", pid));
  }
  if (EndsWithin(pidfd, timeout_ms)) return {};
  return base::MakeError(base::ErrorCode::kTimeout, "process {} did not end within {} ms", pid,
                         timeout_ms)
      .WithHint(fmt::format("kill -KILL {} ends it for certain", pid));
}

std::vector<Process> ProcessesInView(const std::string& root) {
  std::vector<Process> found;
  struct stat node {};
  if (stat(root.c_str(), &node) != 0) return found;
  const auto names = base::ListDirectory("/proc");
  if (!names.ok()) return found;
  for (const std::string& name : *names) {
    const auto pid = base::ParseUnsigned(name);
    if (!pid || static_cast<pid_t>(*pid) == getpid()) continue;
    struct stat seen {};
    const std::string path = fmt::format("/proc/{}/root{}", name, kViewRoot);
    if (stat(path.c_str(), &seen) != 0 || seen.st_dev != node.st_dev ||
        seen.st_ino != node.st_ino) {
      continue;
    }
    auto process = FindProcess(static_cast<pid_t>(*pid));
    if (process.ok()) found.push_back(*std::move(process));
  }
  return found;
}

std::string Describe(const Process& process) {
  return process.name.empty() ? fmt::format("pid {}", process.pid)
                              : fmt::format("pid {} ({})", process.pid, process.name);
}

}  // namespace partita::sim::tool
