#include "sim/tool/view.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/unique_fd.h"
#include "sim/tool/dmi.h"
#include "sim/tool/driver_places.h"
#include "sim/tool/mounts.h"
#include "sim/tool/own_folders.h"

namespace partita::sim::tool {
namespace {

const std::string kBootId = "/proc/sys/kernel/random/boot_id";

// Moves this process to the root of its mount namespace and back to where it was: the root of a
// chroot is often no mount point, and only a mount point can be told how changes spread.
class AtNamespaceRoot {
 public:
  static base::Result<AtNamespaceRoot> Enter() {
    AtNamespaceRoot here;
    here.root_ = base::UniqueFd(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    here.directory_ = base::UniqueFd(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    const base::UniqueFd space(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
    if (!here.root_.valid() || !here.directory_.valid() || !space.valid()) {
      return base::ErrnoError("look at / and /proc/self/ns/mnt");
    }
    if (setns(space.get(), CLONE_NEWNS) != 0) {
      return base::ErrnoError("go to the root of the mount namespace");
    }
    return here;
  }

  [[nodiscard]] base::Result<void> Leave() const {
    if (fchdir(root_.get()) != 0 || chroot(".") != 0 || fchdir(directory_.get()) != 0) {
      return base::ErrnoError("go back from the root of the mount namespace");
    }
    return {};
  }

 private:
  base::UniqueFd root_, directory_;
};

// The host's later mounts still appear here; ours never appear there.
int DetachFromHost() { return mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr); }

base::Result<void> LeaveHostNamespace() {
  if (unshare(CLONE_NEWNS) != 0) {
    const int error = errno;
    auto failure = base::ErrnoError("make a mount namespace", error);
    if (error != EPERM) return failure;
    return std::move(failure).WithHint("a node's view needs CAP_SYS_ADMIN: run this as root");
  }
  if (DetachFromHost() == 0) return {};
  if (errno != EINVAL) return base::ErrnoError("detach the mounts from the host's");
  TRY(outside, AtNamespaceRoot::Enter());
  if (DetachFromHost() != 0) return base::ErrnoError("detach the mounts from the host's");
  return outside.Leave();
}

base::Result<void> ShowRoot(const std::string& root) {
  TRY_VOID(base::MakeDirectories(kViewRoot, 0755));
  TRY_VOID(Bind(root, kViewRoot));
  return AllowDevices(kViewRoot);
}

// The node's own /dev, with the host's terminals, shared memory and message queues in it.
base::Result<void> ShowDevices() {
  std::vector<std::pair<std::string, base::UniqueFd>> kept;
  for (const char* path : {"/dev/pts", "/dev/shm", "/dev/mqueue"}) {
    if (!base::Exists(path)) continue;
    TRY(tree, CloneTree(AT_FDCWD, path));
    kept.emplace_back(path, std::move(tree));
  }
  TRY_VOID(Bind(kViewRoot + "/dev", "/dev"));
  for (const auto& [path, tree] : kept) TRY_VOID(Attach(tree, path));
  return {};
}

base::Result<void> ShowProc() {
  TRY_VOID(Bind(kViewRoot + "/proc/driver", "/proc/driver"));
  TRY_VOID(Bind(kViewRoot + "/proc/devices", "/proc/devices"));
  TRY_VOID(Bind(kViewRoot + kBootId, kBootId));
  if (base::Exists("/proc/modules")) TRY_VOID(Bind(kViewRoot + "/proc/modules", "/proc/modules"));
  return {};
}

// Live: modules and drivers come and go with the driver. Devices stay, and must be found under
// /sys/devices after links were resolved.
base::Result<void> ShowSys() {
  const std::string sys = kViewRoot + "/sys";
  TRY(parts, base::ListDirectory(sys));
  for (const std::string& part : parts) {
    const std::string live = part == "module" ? sys + "/module" : "";
    TRY_VOID(MergeDirectory("/sys/" + part, base::JoinPath(sys, part), live));
  }
  return HideHostDmi(kViewRoot);
}

// What partita keeps between runs and between boots: the node's, never the host's. The folders that
// are covered must be there, so the host gets empty ones.
base::Result<void> ShowOwnFolders() {
  for (const OwnFolder& folder : kOwnFolders) {
    TRY_VOID(base::MakeDirectories(folder.path, folder.mode));
    TRY_VOID(Bind(kViewRoot + folder.path, folder.path));
  }
  return {};
}

// /proc as a directory of links into the real one, which moves to /proc/.host, plus `modules`.
base::Result<void> ReplaceProc() {
  TRY(real, CloneTree(AT_FDCWD, "/proc"));
  TRY(names, base::ListDirectory("/proc"));
  TRY_VOID(MountEmpty("/proc"));
  TRY_VOID(base::MakeDirectories("/proc/.host", 0755));
  TRY_VOID(Attach(real, "/proc/.host"));
  for (const std::string& name : names) {
    const std::string path = "/proc/" + name, target = ".host/" + name;
    if (symlink(target.c_str(), path.c_str()) != 0) return base::ErrnoError("link " + path);
  }
  const std::string modules = kViewRoot + "/proc/modules";
  if (symlink(modules.c_str(), "/proc/modules") != 0) return base::ErrnoError("link /proc/modules");
  return {};
}

}  // namespace

base::Result<void> EnterView(const std::string& root, bool proc_modules) {
  const bool has_modules = base::Exists("/proc/modules");
  TRY(libraries, LibraryFolder());
  TRY_VOID(LeaveHostNamespace());
  TRY_VOID(ShowRoot(root));
  TRY_VOID(ShowDevices());
  TRY_VOID(ShowProc());
  TRY_VOID(ShowSys());
  TRY_VOID(ShowOwnFolders());
  // Inside the view of this node they are there already, and the kernel stacks two overlays only.
  if (root != kViewRoot) TRY_VOID(ShowDriverPlaces(libraries));
  if (proc_modules && !has_modules) TRY_VOID(ReplaceProc());
  return {};
}

}  // namespace partita::sim::tool
