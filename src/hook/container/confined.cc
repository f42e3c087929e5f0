#include "hook/container/confined.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include <fmt/format.h>

#include "base/result.h"
#include "base/root_dir.h"
#include "base/unique_fd.h"
#include "hook/container/mounts.h"
#include "hook/container/old_mount.h"
#include "hook/container/seccomp.h"

namespace partita::hook {
namespace {

using base::ErrnoError;
using base::UniqueFd;

constexpr int kProgram = 3;  // where the program's descriptor ends up

// The container's root as a mount of its own, since only such a one can become the root.
base::Result<UniqueFd> MountHere() {
  constexpr unsigned kRecursive = 0x8000;  // AT_RECURSIVE
  UniqueFd tree(static_cast<int>(
      syscall(SYS_open_tree, AT_FDCWD, ".", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | kRecursive)));
  if (!tree.valid()) return ErrnoError("copy the container's mounts");
  if (syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, ".", MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return ErrnoError("mount the container's root");
  return tree;
}

// What the image or the runtime has in these is of no use to ldconfig, and may be of use against
// it.
base::Result<void> CoverKernelFiles(const base::RootDir& root) {
  for (const char* name : {"/proc", "/sys", "/dev"}) {
    base::Result<UniqueFd> directory = root.OpenAt(name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (!directory.ok()) continue;  // absent, or a link, which leads to nothing of the kernel's
    TRY(empty, NewTmpfs(0555, 4096));
    TRY_VOID(Attach(empty, *directory), "cover {}", name);
  }
  return {};
}

base::Result<void> EnterRoot() {
  if (MakeAllPrivate() != 0) return ErrnoError("make mounts private");
  TRY(tree, MountHere());
  if (fchdir(tree.get()) != 0) return ErrnoError("go to the container's root");
  // It removes links and makes others wherever the image tells it to look, and opens whatever bears
  // a library's name: it may change the image, and nothing that is mounted there.
  TRY_VOID(ProtectMountsBelow(tree));
  TRY(root, base::RootDir::At(std::move(tree), "the container"));
  TRY_VOID(CoverKernelFiles(root));
  if (ChangeRootToHere() != 0) return ErrnoError("make the container's root our own");
  return {};
}

base::Result<void> ArrangeDescriptors(int program, int output) {
  if (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0 ||
      (program != kProgram && dup3(program, kProgram, O_CLOEXEC) < 0))
    return ErrnoError("arrange descriptors");
  close(STDIN_FILENO);
  if (syscall(SYS_close_range, kProgram + 1U, ~0U, 0U) != 0) {
    for (int fd = kProgram + 1; fd < 1024; ++fd) close(fd);
  }
  return {};
}

base::Result<void> Limit() {
  struct Row {
    int resource;
    rlim_t most;
  };
  constexpr Row kLimits[] = {{RLIMIT_CPU, 10},
                             {RLIMIT_AS, rlim_t{4} << 30},
                             {RLIMIT_NOFILE, 64},
                             {RLIMIT_FSIZE, rlim_t{16} << 20},
                             {RLIMIT_CORE, 0}};
  for (const Row& row : kLimits) {
    rlimit limit = {};
    if (getrlimit(row.resource, &limit) != 0) return ErrnoError("read limits");
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max <= row.most) continue;
    limit = {row.most, row.most};
    if (setrlimit(row.resource, &limit) != 0) return ErrnoError("set limits");
  }
  return {};
}

// Left is what root needs to write into directories of other users, as rootless containers have.
base::Result<void> DropCapabilities() {
  constexpr std::uint32_t kKept = CAP_DAC_OVERRIDE;
  for (unsigned long capability = 0; capability <= 63; ++capability) {
    if (capability == kKept) continue;
    if (prctl(PR_CAPBSET_DROP, capability, 0UL, 0UL, 0UL) != 0 && errno != EINVAL)
      return ErrnoError("drop capabilities");
  }
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (syscall(SYS_capget, &header, sets) != 0) return ErrnoError("read capabilities");
  constexpr std::uint32_t kMask = 1U << kKept;
  sets[0] = {sets[0].effective & kMask, sets[0].permitted & kMask, 0};
  sets[1] = {0, 0, 0};
  if (syscall(SYS_capset, &header, sets) != 0) return ErrnoError("drop capabilities");
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return {};
}

base::Result<void> Confine(int program, int output) {
  TRY_VOID(EnterRoot());
  TRY_VOID(ArrangeDescriptors(program, output));
  TRY_VOID(Limit());
  TRY_VOID(DropCapabilities());
  if (InstallFilter(LdconfigFilter(kProgram)) != 0) return ErrnoError("limit system calls");
  return {};
}

// To the output, wherever it is by now.
void Tell(int output, const std::string& text) {
  if (write(output, text.data(), text.size()) < 0) [[maybe_unused]]
    const ssize_t again = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

void RunConfined(int program, int output, const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& each : arguments) argv.push_back(const_cast<char*>(each.c_str()));
  argv.push_back(nullptr);
  char* environment[] = {nullptr};
  const base::Result<void> confined = Confine(program, output);
  if (!confined.ok()) {
    Tell(output, confined.error().ToString());
    _exit(kNotConfined);
  }
  syscall(SYS_execveat, kProgram, "", argv.data(), environment, AT_EMPTY_PATH);
  Tell(STDERR_FILENO, ErrnoError("execute ldconfig").ToString());
  _exit(kNotConfined);
}

}  // namespace partita::hook
