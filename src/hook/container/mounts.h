// Mounts in a container, by descriptor: no path is looked up twice, nothing of the image is
// mounted, and no mount reaches the host. Needs Linux 5.2.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/root_dir.h"
#include "base/unique_fd.h"

namespace partita::hook {

struct MountAttributes {
  bool read_only = true;
  bool no_exec = false;
  bool no_devices = true;
  bool no_links = true;  // none is followed below it, where the kernel can
  bool operator==(const MountAttributes&) const = default;
  // Always: no set-user-id programs, private.
};

// A copy of the mount at a path of the host, without mounts below it, not attached anywhere.
[[nodiscard]] base::Result<base::UniqueFd> CloneHostTree(const std::string& host_path,
                                                         const MountAttributes& attributes);
// The same of what is below a directory.
[[nodiscard]] base::Result<base::UniqueFd> CloneTreeAt(const base::UniqueFd& directory,
                                                       const std::string& name,
                                                       const MountAttributes& attributes);

// An empty file system in memory, not attached anywhere; writable.
[[nodiscard]] base::Result<base::UniqueFd> NewTmpfs(mode_t mode, std::uint64_t size);

// Pseudo terminals of their own, not attached anywhere; whoever may reach them may make some.
[[nodiscard]] base::Result<base::UniqueFd> NewTerminals();

// Where something will be mounted. What is above it is followed as links are inside the root; it
// must be no link itself.
[[nodiscard]] base::Result<base::UniqueFd> MountTarget(const base::RootDir& root,
                                                       std::string_view path);

// Puts the tree over the target, which keeps meaning what is below.
[[nodiscard]] base::Result<void> Attach(const base::UniqueFd& tree, const base::UniqueFd& target);
// The same; it has the attributes afterwards, also where the kernel could not set them before
// (5.12).
[[nodiscard]] base::Result<void> Place(const base::UniqueFd& tree,
                                       const base::UniqueFd& target,
                                       const MountAttributes& attributes);
// Takes away what was attached.
[[nodiscard]] base::Result<void> Detach(const base::UniqueFd& tree);

// Sets the attributes of a tree that is attached already.
[[nodiscard]] base::Result<void> SetAttributes(const base::UniqueFd& tree,
                                               const MountAttributes& attributes);

// In a mount namespace of our own: everything mounted below the top is read-only, and no device can
// be opened anywhere in the tree.
[[nodiscard]] base::Result<void> ProtectMountsBelow(const base::UniqueFd& top);

struct MountPoint {
  std::uint64_t id = 0;
  std::string path;
  bool operator==(const MountPoint&) const = default;
};
// What is mounted on a mount, and on that, by the text of /proc/self/mountinfo.
[[nodiscard]] std::vector<MountPoint> MountsBelow(std::string_view mountinfo, std::uint64_t top);

// Mounts made on what is shared would appear elsewhere too. Makes the mount that the target lies on
// private, unless the container's root lies on the same one (kDenied): that one may be the host's.
[[nodiscard]] base::Result<void> KeepMountsHere(const base::RootDir& root,
                                                const base::UniqueFd& target);

}  // namespace partita::hook
