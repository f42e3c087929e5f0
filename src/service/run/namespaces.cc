#include "service/run/namespaces.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <fmt/format.h>

#include "base/files.h"
#include "hook/container/old_mount.h"

namespace partita::service::run {

namespace {

using base::ErrnoError;
using base::Result;

// Each number means itself: files belong to whom they belonged to.
Result<void> MapThisUser(uid_t user, gid_t group) {
  // Else a group could be given up whose members may not do something. Before 3.19 it is not there.
  if (base::Exists("/proc/self/setgroups"))
    TRY_VOID(base::WriteFile("/proc/self/setgroups", "deny", 0644));
  TRY_VOID(base::WriteFile("/proc/self/uid_map", fmt::format("{0} {0} 1", user), 0644));
  return base::WriteFile("/proc/self/gid_map", fmt::format("{0} {0} 1", group), 0644);
}

Result<void> EnterUserNamespace() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
    return ErrnoError("make a user namespace")
        .WithHint(
            "run it as root, or let users make namespaces (sysctl user.max_user_namespaces, "
            "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)");
  }
  return MapThisUser(user, group);
}

Result<void> KeepOnly(const __user_cap_data_struct (&kept)[2]) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return ErrnoError("read capabilities");
  for (int i = 0; i < 2; ++i) {
    data[i].effective &= kept[i].effective;
    data[i].permitted &= kept[i].effective;
    data[i].inheritable &= kept[i].effective;
  }
  if (syscall(SYS_capset, &header, data) != 0) return ErrnoError("give up capabilities");
  return {};
}

// EINVAL: the kernel has no more of them.
Result<void> DropAll() {
  for (int each = 0; prctl(PR_CAPBSET_DROP, each, 0, 0, 0) == 0; ++each) {
  }
  if (errno != EINVAL) return ErrnoError("give up capabilities");
  return KeepOnly({});
}

Result<void> DropMakingNodes() {
  if (prctl(PR_CAPBSET_DROP, CAP_MKNOD, 0, 0, 0) != 0) return ErrnoError("give up CAP_MKNOD");
  return KeepOnly({{~(1U << CAP_MKNOD), 0, 0}, {~0U, 0, 0}});
}

}  // namespace

Result<Rights> EnterOwnMounts() {
  Rights rights = Rights::kRoot;
  if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0) {
    rights = Rights::kUser;
    TRY_VOID(EnterUserNamespace());
  }
  if (hook::MakeAllPrivate() != 0) return ErrnoError("make all mounts private");
  return rights;
}

Result<void> DropRights(Rights rights) {
  return rights == Rights::kUser ? DropAll() : DropMakingNodes();
}

}  // namespace partita::service::run
