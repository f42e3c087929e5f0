#include "sim/tool/mounts.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace partita::sim::tool {
namespace {

// By system call: glibc has had wrappers only since 2.36.
int OpenTree(int directory, const char* path, unsigned flags) {
  return static_cast<int>(syscall(SYS_open_tree, directory, path, flags));
}
int MoveMount(int from, const char* to) {
  constexpr unsigned kFromEmptyPath = 0x4;  // MOVE_MOUNT_F_EMPTY_PATH
  return static_cast<int>(syscall(SYS_move_mount, from, "", AT_FDCWD, to, kFromEmptyPath));
}

enum class Kind { kAbsent, kDirectory, kLink, kOther };

Kind KindAt(int directory, const std::string& name) {
  struct stat status {};
  if (fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return Kind::kAbsent;
  if (S_ISDIR(status.st_mode)) return Kind::kDirectory;
  return S_ISLNK(status.st_mode) ? Kind::kLink : Kind::kOther;
}

base::Result<base::UniqueFd> OpenDirectory(const std::string& path) {
  base::UniqueFd fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return base::ErrnoError("open " + path);
  return fd;
}

base::Result<std::string> LinkTarget(int directory, const std::string& name) {
  char target[PATH_MAX];
  const ssize_t size = readlinkat(directory, name.c_str(), target, sizeof target);
  if (size < 0) return base::ErrnoError("read the link " + name);
  return std::string(target, static_cast<std::size_t>(size));
}

base::Result<void> MakeLink(const std::string& target, const std::string& path) {
  if (symlink(target.c_str(), path.c_str()) != 0) return base::ErrnoError("link " + path);
  return {};
}

// Shows the entry `name` of `directory` at `path`, which does not exist yet.
base::Result<void> ShowEntry(int directory, const std::string& name, const std::string& path) {
  const Kind kind = KindAt(directory, name);
  if (kind == Kind::kAbsent) return {};  // gone meanwhile
  if (kind == Kind::kLink) {
    TRY(target, LinkTarget(directory, name));
    return MakeLink(target, path);
  }
  if (kind == Kind::kDirectory) {
    if (mkdir(path.c_str(), 0755) != 0) return base::ErrnoError("make " + path);
  } else {
    TRY_VOID(base::WriteFile(path, "", 0644));
  }
  TRY(tree, CloneTree(directory, name));
  return Attach(tree, path);
}

bool DescribesDevice(const std::string& directory) { return base::Exists(directory + "/uevent"); }

// A path in /proc/self/mountinfo, where spaces and the like are octal: "\\040".
std::string Unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      plain += text[i];
      continue;
    }
    plain +=
        static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return plain;
}

// The mount points below `path` that are not below another one of them.
base::Result<std::vector<std::string>> MountsBelow(const std::string& path) {
  constexpr std::size_t kMountPoint = 4;  // proc(5)
  TRY(text, base::ReadFile("/proc/self/mountinfo"));
  std::vector<std::string> found;
  for (const std::string_view line : base::Split(text, '\n')) {
    const std::vector<std::string_view> fields = base::Split(line, ' ');
    if (fields.size() <= kMountPoint) continue;
    std::string point = Unescaped(fields[kMountPoint]);
    if (point.starts_with(path + "/")) found.push_back(std::move(point));
  }
  std::ranges::sort(found);
  std::vector<std::string> top;
  for (std::string& point : found) {
    const bool below_last = !top.empty() && (point + "/").starts_with(top.back() + "/");
    if (!below_last) top.push_back(std::move(point));
  }
  return top;
}

// What MergeDirectory has to do in one directory.
struct Merge {
  std::vector<std::string> kept;    // of the target
  std::vector<std::string> added;   // of the overlay, new or replacing
  std::vector<std::string> merged;  // directories in both
};

base::Result<Merge> PlanMerge(const std::string& target, const std::string& overlay) {
  Merge merge;
  TRY(below, base::ListDirectory(target));
  TRY(above, base::ListDirectory(overlay));
  TRY(target_fd, OpenDirectory(target));
  TRY(overlay_fd, OpenDirectory(overlay));
  for (const std::string& name : above) {
    const bool both_directories = KindAt(target_fd.get(), name) == Kind::kDirectory &&
                                  KindAt(overlay_fd.get(), name) == Kind::kDirectory;
    const bool merge_it = both_directories && !DescribesDevice(base::JoinPath(overlay, name));
    (merge_it ? merge.merged : merge.added).push_back(name);
  }
  for (const std::string& name : below) {
    if (std::ranges::find(merge.added, name) == merge.added.end()) merge.kept.push_back(name);
  }
  return merge;
}

// Covers the target with an empty directory and puts everything into it.
base::Result<void> Compose(const Merge& merge,
                           const std::string& target,
                           const std::string& overlay,
                           const std::string& live) {
  TRY(covered, OpenDirectory(target));
  TRY(overlay_fd, OpenDirectory(overlay));
  TRY_VOID(MountEmpty(target));
  for (const std::string& name : merge.kept) {
    TRY_VOID(ShowEntry(covered.get(), name, base::JoinPath(target, name)));
  }
  for (const std::string& name : merge.added) {
    const std::string path = base::JoinPath(target, name);
    if (live.empty()) {
      TRY_VOID(ShowEntry(overlay_fd.get(), name, path));
    } else {
      TRY_VOID(MakeLink(base::JoinPath(live, name), path));
    }
  }
  return {};
}

}  // namespace

base::Result<base::UniqueFd> CloneTree(int directory, const std::string& path) {
  base::UniqueFd tree(
      OpenTree(directory, path.c_str(),
               OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW));
  if (!tree.valid()) return base::ErrnoError("clone the mount at " + path);
  return tree;
}

base::Result<void> Attach(const base::UniqueFd& tree, const std::string& target) {
  if (MoveMount(tree.get(), target.c_str()) != 0) return base::ErrnoError("mount on " + target);
  return {};
}

base::Result<void> Bind(const std::string& source, const std::string& target) {
  TRY(tree, CloneTree(AT_FDCWD, source));
  return Attach(tree, target);
}

base::Result<void> MountEmpty(const std::string& target) {
  if (mount("partita-sim", target.c_str(), "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755") != 0) {
    return base::ErrnoError("mount a tmpfs on " + target);
  }
  return {};
}

base::Result<void> Overlay(const std::string& layer, const std::string& target) {
  TRY(points, MountsBelow(target));
  std::vector<std::pair<std::string, base::UniqueFd>> kept;
  for (const std::string& point : points) {
    TRY(tree, CloneTree(AT_FDCWD, point));
    kept.emplace_back(point, std::move(tree));
  }
  const std::string options = "lowerdir=" + layer + ":" + target;
  if (mount("partita-sim", target.c_str(), "overlay", MS_RDONLY, options.c_str()) != 0) {
    return base::ErrnoError("lay an overlay of the node over " + target)
        .WithHint(
            "a node's view needs overlayfs in the kernel, and / on at most one overlay itself");
  }
  for (const auto& [point, tree] : kept) TRY_VOID(Attach(tree, point));
  return {};
}

base::Result<void> AllowDevices(const std::string& mount_point) {
  struct statvfs flags {};
  if (statvfs(mount_point.c_str(), &flags) != 0) return base::ErrnoError("ask for " + mount_point);
  if ((flags.f_flag & (ST_NODEV | ST_NOEXEC)) == 0) return {};
  if (mount(nullptr, mount_point.c_str(), nullptr, MS_BIND | MS_REMOUNT, nullptr) != 0) {
    return base::ErrnoError("allow devices and programs on " + mount_point);
  }
  return {};
}

base::Result<void> MergeDirectory(const std::string& target,
                                  const std::string& overlay,
                                  const std::string& live) {
  TRY(merge, PlanMerge(target, overlay));
  if (!merge.added.empty()) TRY_VOID(Compose(merge, target, overlay, live));
  for (const std::string& name : merge.merged) {
    const std::string below = live.empty() ? "" : base::JoinPath(live, name);
    TRY_VOID(MergeDirectory(base::JoinPath(target, name), base::JoinPath(overlay, name), below));
  }
  return {};
}

}  // namespace partita::sim::tool
