#include "hook/container/mounts.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/mount_id.h"
#include "base/text.h"
#include "hook/container/old_mount.h"

namespace partita::hook {
namespace {

using base::ErrnoError;
using base::ErrorCode;
using base::MakeError;
using base::UniqueFd;

// By number: glibc has names for these calls from 2.36 on only, in a header that the kernel's does
// not go with.
int OpenTree(int directory, const char* path, unsigned flags) {
  return static_cast<int>(syscall(SYS_open_tree, directory, path, flags));
}
int MoveMount(int tree, int target) {
  return static_cast<int>(syscall(SYS_move_mount, tree, "", target, "",
                                  MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
}
int ConfigureFs(int fs, unsigned command, const char* key, const char* value) {
  return static_cast<int>(syscall(SYS_fsconfig, fs, command, key, value, 0));
}

base::Error Failed(std::string what) {
  if (errno != ENOSYS) return ErrnoError(std::move(what));
  return ErrnoError(std::move(what)).WithHint("this needs Linux 5.2 or newer");
}

std::uint64_t FlagsOf(const MountAttributes& attributes) {
  return MOUNT_ATTR_NOSUID | (attributes.read_only ? MOUNT_ATTR_RDONLY : 0) |
         (attributes.no_exec ? MOUNT_ATTR_NOEXEC : 0) |
         (attributes.no_devices ? MOUNT_ATTR_NODEV : 0);
}

// Links are refused below it where the kernel can (5.10).
int SetNewAttributes(int tree, const MountAttributes& attributes) {
  mount_attr attr = {};
  const std::uint64_t no_links = attributes.no_links ? MOUNT_ATTR_NOSYMFOLLOW : 0;
  attr.attr_set = FlagsOf(attributes) | no_links;
  attr.propagation = kPrivate;
  const auto set = [&] {
    return syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof attr);
  };
  if (set() == 0) return 0;
  if (errno != EINVAL || no_links == 0) return -1;
  attr.attr_set &= ~std::uint64_t{MOUNT_ATTR_NOSYMFOLLOW};
  return static_cast<int>(set());
}

base::Result<UniqueFd> Clone(int directory,
                             const char* path,
                             unsigned how,
                             const std::string& called) {
  UniqueFd tree(OpenTree(directory, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | how));
  if (!tree.valid()) return Failed(fmt::format("copy the mount of {}", called));
  return tree;
}

// Before 5.12 only what is attached can be changed: Place does it then.
base::Result<void> PrepareClone(const UniqueFd& tree, const MountAttributes& attributes) {
  if (SetNewAttributes(tree.get(), attributes) == 0 || errno == ENOSYS) return {};
  return ErrnoError("set the attributes of a mount");
}

struct FsOption {
  const char* key;
  std::string value;
};

base::Result<UniqueFd> NewFileSystem(const char* type,
                                     const std::vector<FsOption>& options,
                                     unsigned attributes) {
  const auto failed = [type] { return Failed(fmt::format("make a file system ({})", type)); };
  const UniqueFd fs(static_cast<int>(syscall(SYS_fsopen, type, FSOPEN_CLOEXEC)));
  if (!fs.valid()) return failed();
  for (const FsOption& option : options) {
    if (ConfigureFs(fs.get(), FSCONFIG_SET_STRING, option.key, option.value.c_str()) != 0)
      return failed();
  }
  if (ConfigureFs(fs.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr) != 0) return failed();
  UniqueFd tree(static_cast<int>(syscall(SYS_fsmount, fs.get(), FSMOUNT_CLOEXEC, attributes)));
  if (!tree.valid()) return failed();
  return tree;
}

base::Result<void> Protect(const UniqueFd& own, int mount, bool read_only) {
  struct statvfs about = {};
  if (fstatvfs(mount, &about) != 0) return ErrnoError("look at a mount");
  const bool was_read_only = (about.f_flag & ST_RDONLY) != 0;
  const bool no_exec = (about.f_flag & ST_NOEXEC) != 0;
  if (RemountOwn(own.get(), mount, read_only || was_read_only, no_exec, true) != 0)
    return ErrnoError("set the attributes of a mount");
  return {};
}

// Before 5.12.
base::Result<void> ProtectOneByOne(const UniqueFd& top) {
  TRY(own, base::OpenOwnDescriptors());
  TRY(id, base::MountIdOf(top.get()));
  TRY(table, base::ReadFile("/proc/self/mountinfo"));
  for (const MountPoint& point : MountsBelow(table, id)) {
    const UniqueFd mount(open(point.path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    const auto found = mount.valid() ? base::MountIdOf(mount.get()) : ErrnoError("open");
    // Hidden by another mount, from ldconfig too.
    if (!found.ok() || *found != point.id) continue;
    TRY_VOID(Protect(own, mount.get(), true), "{}", point.path);
  }
  return Protect(own, top.get(), false);
}

}  // namespace

base::Result<UniqueFd> CloneHostTree(const std::string& host_path,
                                     const MountAttributes& attributes) {
  TRY(tree, Clone(AT_FDCWD, host_path.c_str(), AT_SYMLINK_NOFOLLOW, host_path));
  TRY_VOID(PrepareClone(tree, attributes), "{}", host_path);
  return tree;
}

base::Result<UniqueFd> CloneTreeAt(const UniqueFd& directory,
                                   const std::string& name,
                                   const MountAttributes& attributes) {
  TRY(tree, Clone(directory.get(), name.c_str(), AT_SYMLINK_NOFOLLOW, name));
  TRY_VOID(PrepareClone(tree, attributes), "{}", name);
  return tree;
}

base::Result<UniqueFd> NewTmpfs(mode_t mode, std::uint64_t size) {
  return NewFileSystem("tmpfs",
                       {{"mode", fmt::format("{:o}", mode)}, {"size", fmt::format("{}", size)}},
                       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

base::Result<UniqueFd> NewTerminals() {
  return NewFileSystem("devpts", {{"mode", "620"}, {"ptmxmode", "666"}},
                       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
}

base::Result<UniqueFd> MountTarget(const base::RootDir& root, std::string_view path) {
  TRY(target, root.OpenAt(path, O_PATH | O_NOFOLLOW));
  struct stat about = {};
  if (fstat(target.get(), &about) != 0) return ErrnoError(fmt::format("look at {}", path));
  if (S_ISLNK(about.st_mode))
    return MakeError(ErrorCode::kDenied, "{} in {} is a link: nothing is mounted over it", path,
                     root.name());
  return target;
}

base::Result<void> Attach(const UniqueFd& tree, const UniqueFd& target) {
  if (MoveMount(tree.get(), target.get()) != 0) return Failed("mount");
  return {};
}

base::Result<void> Detach(const UniqueFd& tree) {
  TRY(own, base::OpenOwnDescriptors());
  if (UnmountOwn(own.get(), tree.get()) != 0) return ErrnoError("unmount");
  return {};
}

base::Result<void> SetAttributes(const UniqueFd& tree, const MountAttributes& attributes) {
  if (SetNewAttributes(tree.get(), attributes) == 0) return {};
  if (errno != ENOSYS) return ErrnoError("set the attributes of a mount");
  TRY(own, base::OpenOwnDescriptors());
  if (RemountOwn(own.get(), tree.get(), attributes.read_only, attributes.no_exec,
                 attributes.no_devices) != 0 ||
      MakeOwnPrivate(own.get(), tree.get()) != 0)
    return ErrnoError("set the attributes of a mount");
  return {};
}

base::Result<void> Place(const UniqueFd& tree,
                         const UniqueFd& target,
                         const MountAttributes& attributes) {
  TRY_VOID(Attach(tree, target));
  return SetAttributes(tree, attributes);
}

std::vector<MountPoint> MountsBelow(std::string_view mountinfo, std::uint64_t top) {
  std::set<std::uint64_t> inside{top};
  std::vector<MountPoint> points;
  // A line comes after that of what it is mounted on, but for what was moved.
  for (std::size_t before = 0; before != inside.size();) {
    before = inside.size();
    for (const std::string_view line : base::SplitLines(mountinfo)) {
      const std::vector<std::string_view> words = base::SplitWords(line);
      if (words.size() < 7) continue;
      const auto id = base::ParseUnsigned(words[0]), parent = base::ParseUnsigned(words[1]);
      if (!id || !parent || !inside.contains(*parent) || !inside.insert(*id).second) continue;
      points.push_back({*id, Unescaped(words[4])});
    }
  }
  return points;
}

base::Result<void> ProtectMountsBelow(const UniqueFd& top) {
  struct statvfs about = {};
  if (fstatvfs(top.get(), &about) != 0) return ErrnoError("look at a mount");
  constexpr unsigned kRecursive = 0x8000;  // AT_RECURSIVE
  mount_attr attr = {};
  attr.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV;
  const auto set = [&](unsigned how) {
    return syscall(SYS_mount_setattr, top.get(), "", AT_EMPTY_PATH | how, &attr, sizeof attr);
  };
  if (set(kRecursive) != 0)
    return errno == ENOSYS ? ProtectOneByOne(top) : ErrnoError("make mounts read-only");
  if ((about.f_flag & ST_RDONLY) != 0) return {};
  attr = {};
  attr.attr_clr = MOUNT_ATTR_RDONLY;
  if (set(0) != 0) return ErrnoError("make the container's root writable");
  return {};
}

base::Result<void> KeepMountsHere(const base::RootDir& root, const UniqueFd& target) {
  TRY(id, base::MountIdOf(target.get()));
  TRY(table, base::ReadFile("/proc/self/mountinfo"));
  std::string point;
  const std::string beginning = fmt::format("{} ", id);
  for (const std::string_view line : base::SplitLines(table)) {
    if (!line.starts_with(beginning)) continue;  // hundreds, of hosts with many containers
    const std::vector<std::string_view> words = base::SplitWords(line);
    if (words.size() < 7) continue;
    // Optional fields lie between the seventh word and "-".
    for (std::size_t i = 6; i < words.size() && words[i] != "-"; ++i) {
      if (words[i].starts_with("shared:")) point = words[4];
    }
  }
  if (point.empty()) return {};
  TRY(own_id, base::MountIdOf(root.fd()));
  if (own_id == id)
    return MakeError(ErrorCode::kDenied,
                     "the container's root is on a shared mount ({}): what is mounted there would "
                     "appear on the host",
                     point)
        .WithHint("let the runtime mount /proc in the container, or make the mount private");
  const UniqueFd mount(open(Unescaped(point).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  const auto found = mount.valid() ? base::MountIdOf(mount.get()) : ErrnoError("open");
  if (!found.ok() || *found != id)
    return MakeError(ErrorCode::kDenied,
                     "{} is shared with other mount namespaces, and hidden by another mount",
                     point);
  TRY(own, base::OpenOwnDescriptors());
  if (MakeOwnPrivate(own.get(), mount.get()) != 0)
    return ErrnoError(fmt::format("make the mount {} private", point));
  return {};
}

}  // namespace partita::hook
