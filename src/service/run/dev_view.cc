#include "service/run/dev_view.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <climits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/root_dir.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "hook/container/mounts.h"

namespace partita::service::run {

namespace {

using base::ErrnoError;
using base::ErrorCode;
using base::MakeError;
using base::Result;
using base::RootDir;
using base::UniqueFd;
using hook::MountAttributes;
using partita::cdi::DeviceNode;

constexpr char kDev[] = "/dev";
constexpr std::uint64_t kSize = std::uint64_t{1} << 20;

// Read-only is for owner and mode, which are the host's; a device is written to all the same.
constexpr MountAttributes kNode{.read_only = true, .no_exec = true, .no_devices = false};
constexpr MountAttributes kFolder{
    .read_only = false, .no_exec = false, .no_devices = true, .no_links = false};

// What every program may use, where the host has it.
constexpr const char* kNodes[] = {"null", "zero", "full", "random", "urandom", "tty", "log"};
constexpr const char* kFolders[] = {"shm", "mqueue", "hugepages"};
constexpr std::pair<const char*, const char*> kLinks[] = {{"fd", "/proc/self/fd"},
                                                          {"stdin", "/proc/self/fd/0"},
                                                          {"stdout", "/proc/self/fd/1"},
                                                          {"stderr", "/proc/self/fd/2"},
                                                          {"ptmx", "pts/ptmx"}};

struct Held {
  std::string path;  // below /dev
  UniqueFd tree;
  bool folder = false;
  MountAttributes attributes;
};

// Everything that the new /dev has, held before the old one goes.
struct Contents {
  std::vector<Held> trees;
  std::vector<std::pair<std::string, std::string>> links;  // path, text
};

Result<void> HoldUsual(Contents& contents) {
  for (const char* name : kNodes) {
    const std::string path = fmt::format("{}/{}", kDev, name);
    struct stat about = {};
    if (lstat(path.c_str(), &about) != 0) continue;
    if (S_ISLNK(about.st_mode)) {
      TRY(text, base::ReadLink(path));
      contents.links.emplace_back(name, text);
      continue;
    }
    TRY(tree, hook::CloneHostTree(path, kNode));
    contents.trees.push_back({name, std::move(tree), false, kNode});
  }
  for (const char* name : kFolders) {
    const std::string path = fmt::format("{}/{}", kDev, name);
    struct stat about = {};
    if (lstat(path.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) continue;
    TRY(tree, hook::CloneHostTree(path, kFolder));
    contents.trees.push_back({name, std::move(tree), true, kFolder});
  }
  for (const auto& [name, text] : kLinks) contents.links.emplace_back(name, text);
  return {};
}

// Terminals are new ones. Programs that ask for the name of the one they were started on find it as
// the console, as in other containers.
Result<void> HoldTerminals(Contents& contents) {
  TRY(own, hook::NewTerminals());
  contents.trees.push_back(
      {"pts", std::move(own), true,
       MountAttributes{.read_only = false, .no_exec = true, .no_devices = false}});
  char name[PATH_MAX];
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (ttyname_r(fd, name, sizeof name) != 0) continue;
    TRY(tree, hook::CloneHostTree(name, kNode));
    contents.trees.push_back({"console", std::move(tree), false, kNode});
    break;
  }
  return {};
}

Result<void> HoldGranted(const DeviceNode& node, Contents& contents) {
  const std::string host_path = node.host_path.empty() ? node.path : node.host_path;
  const std::optional<std::string_view> path = base::WithoutPrefix(node.path, "/dev/");
  if (!path) return MakeError(ErrorCode::kInternal, "{} is not in {}", node.path, kDev);
  TRY(tree, hook::CloneHostTree(host_path, kNode));
  struct stat about = {};
  if (fstat(tree.get(), &about) != 0) return ErrnoError(fmt::format("look at {}", host_path));
  if (!S_ISCHR(about.st_mode) || about.st_rdev != makedev(static_cast<unsigned>(node.major),
                                                          static_cast<unsigned>(node.minor))) {
    return MakeError(ErrorCode::kConflict, "{} is no longer the device {}:{}", host_path,
                     node.major, node.minor);
  }
  contents.trees.push_back({std::string(*path), std::move(tree), false, kNode});
  return {};
}

// Each that lies over another, until nothing is mounted there.
Result<void> TakeAwayOld() {
  while (umount2(kDev, MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
  }
  if (errno != EINVAL) return ErrnoError(fmt::format("unmount {}", kDev));
  return {};
}

Result<void> Show(const RootDir& memory, const Held& held) {
  const std::string path = "/" + held.path;
  TRY(made, memory.MakeDirectories(held.folder ? path : path.substr(0, path.rfind('/')), 0755));
  if (!held.folder) TRY_VOID(memory.WriteNew(path, "", 0444));
  TRY(target, hook::MountTarget(memory, path));
  TRY_VOID(hook::Place(held.tree, target, held.attributes), "{}{}", kDev, path);
  return {};
}

Result<void> ShowContents(const Contents& contents) {
  TRY(tree, hook::NewTmpfs(0755, kSize));
  TRY(root, RootDir::Open("/"));
  TRY(target, hook::MountTarget(root, kDev));
  TRY_VOID(hook::Attach(tree, target), "{}", kDev);
  TRY(memory, RootDir::At(UniqueFd(fcntl(tree.get(), F_DUPFD_CLOEXEC, 0)), kDev));
  for (const Held& held : contents.trees) TRY_VOID(Show(memory, held));
  for (const auto& [path, text] : contents.links) TRY_VOID(memory.PutLink(text, path));
  return {};
}

}  // namespace

Result<void> ShowDevices(std::span<const DeviceNode> nodes, Rights rights) {
  Contents contents;
  TRY_VOID(HoldUsual(contents));
  TRY_VOID(HoldTerminals(contents));
  for (const DeviceNode& node : nodes) TRY_VOID(HoldGranted(node, contents));
  if (rights == Rights::kRoot) TRY_VOID(TakeAwayOld());
  return ShowContents(contents);
}

}  // namespace partita::service::run
