#include "service/run/container.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/root_dir.h"
#include "base/state_file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "hook/container/mounts.h"
#include "service/run/afterwards.h"
#include "service/run/bundle.h"
#include "service/run/namespaces.h"

namespace partita::service::run {

namespace {

using base::ErrnoError;
using base::ErrorCode;
using base::MakeError;
using base::Result;
using base::RootDir;
using base::UniqueFd;

constexpr const char* kSystemDirectories[] = {"/usr/local/sbin", "/usr/sbin", "/sbin"};
// A name means the same on this machine and in the container, whose network is the same.
constexpr const char* kNameFiles[] = {"/etc/resolv.conf", "/etc/hosts"};

// Directories of this container: `state` is runc's, `view` is covered by the file system in memory.
struct Place {
  std::string top, state, view;
};

Result<Place> MakePlace() {
  const std::string run = base::RunDirectory();
  TRY_VOID(base::MakeDirectories(run, 0755));
  std::string top = base::JoinPath(run, "container-XXXXXX");
  if (mkdtemp(top.data()) == nullptr) return ErrnoError(fmt::format("make a directory in {}", run));
  Place place{top, top + "/state", top + "/view"};
  for (const std::string& path : {place.state, place.view}) {
    if (mkdir(path.c_str(), 0700) == 0) continue;
    base::Error error = ErrnoError(fmt::format("make {}", path));
    TRY_VOID(base::RemoveTree(top));
    return std::move(error).WithHint(fmt::format("see that there is room: df -i {}", run));
  }
  return place;
}

// It names a cgroup too, which PID namespaces share.
std::string NameOf(const Place& place) {
  return fmt::format("partita-{}-{}", getpid(), place.top.substr(place.top.size() - 6));
}

// One that goes with this process, whatever ends it.
Result<Place> MakePlaceForNow(const std::string& runc) {
  const EndsHeld until_it_is_told;
  TRY(place, MakePlace());
  const std::string id = NameOf(place);
  Result<void> cleared =
      ClearAfterwards({.command = {runc, "--root", place.state, "delete", "--force", id},
                       .sign_of_life = base::JoinPath(place.state, id + "/state.json"),
                       .tree = place.state,
                       .directories = {place.view, place.top}});
  if (cleared.ok()) return place;
  TRY_VOID(base::RemoveTree(place.top));
  return std::move(cleared).error();
}

// As the kernel does where nobody says how much.
std::uint64_t HalfOfMemory() {
  struct sysinfo about = {};
  if (sysinfo(&about) != 0) return std::uint64_t{1} << 30;
  return std::uint64_t{about.totalram} * about.mem_unit / 2;
}

Result<void> Put(const UniqueFd& tree, const std::string& path) {
  TRY(root, RootDir::Open("/"));
  TRY(target, hook::MountTarget(root, path));
  TRY_VOID(hook::Attach(tree, target), "{}", path);
  return {};
}

// By names relative to the directory: none of ours has a character that overlayfs reads.
Result<void> MountOverlay(const std::string& directory) {
  const UniqueFd before(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!before.valid() || chdir(directory.c_str()) != 0)
    return ErrnoError(fmt::format("enter {}", directory));
  const int mounted =
      mount("overlay", "rootfs", "overlay", 0, "lowerdir=lower,upperdir=upper,workdir=work");
  const int reason = errno;
  if (fchdir(before.get()) != 0) return ErrnoError("go back to the working directory");
  if (mounted == 0) return {};
  return ErrnoError("lay an overlay over the image", reason)
      .WithHint("it needs overlayfs, and the image not on an overlay itself");
}

Result<void> ShowImage(const Image& image, const std::string& view) {
  constexpr hook::MountAttributes kAsItIs{
      .read_only = true, .no_exec = false, .no_devices = true, .no_links = false};
  TRY(lower, hook::CloneHostTree(image.path, kAsItIs));
  TRY(memory, hook::NewTmpfs(0700, HalfOfMemory()));
  TRY_VOID(Put(memory, view));
  for (const char* name : {"lower", "upper", "work", "rootfs", "bundle"}) {
    const std::string path = base::JoinPath(view, name);
    if (mkdir(path.c_str(), 0755) != 0) return ErrnoError(fmt::format("make {}", path));
  }
  TRY_VOID(Put(lower, base::JoinPath(view, "lower")));
  return MountOverlay(view);
}

ContainerOrder OrderFor(const std::string& view, const std::vector<std::string>& command) {
  ContainerOrder order;
  order.root = base::JoinPath(view, "rootfs");
  order.command = command;
  order.terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  const char* term = std::getenv("TERM");
  if (order.terminal && term != nullptr) order.term = term;
  for (const char* file : kNameFiles) {
    if (access(file, R_OK) == 0) order.host_files.emplace_back(file);
  }
  return order;
}

Result<base::FileFacts> LookAtHost(const std::string& path) {
  TRY(root, RootDir::Open("/"));
  return root.Look(path);
}

}  // namespace

Result<std::string> FindRunc() {
  const char* path = std::getenv("PATH");
  std::vector<std::string_view> directories = base::Split(path != nullptr ? path : "", ':');
  directories.insert(directories.end(), std::begin(kSystemDirectories),
                     std::end(kSystemDirectories));
  for (const std::string_view directory : directories) {
    std::string program = base::JoinPath(directory, "runc");
    if (directory.starts_with('/') && access(program.c_str(), X_OK) == 0) return program;
  }
  return MakeError(ErrorCode::kNotFound, "there is no runc in PATH")
      .WithHint("install the package runc; or run the program without --image");
}

Result<std::vector<std::string>> PrepareContainer(const std::string& runc,
                                                  const Image& image,
                                                  const std::vector<std::string>& command,
                                                  const Grant& grant,
                                                  const partita::cdi::NodeDevices& node,
                                                  const cdi::HookSet& hooks) {
  TRY(place, MakePlaceForNow(runc));
  TRY(rights, EnterOwnMounts());
  if (rights != Rights::kRoot)
    return MakeError(ErrorCode::kDenied, "this process may not mount")
        .WithHint("CAP_SYS_ADMIN is needed for --image");
  TRY_VOID(ShowImage(image, place.view));
  TRY(config, MakeConfig(OrderFor(place.view, command), grant, node, hooks, LookAtHost));
  const std::string bundle = base::JoinPath(place.view, "bundle");
  TRY_VOID(base::WriteFile(base::JoinPath(bundle, "config.json"), config, 0600));
  return std::vector<std::string>{runc,       "--root", place.state,  "run",
                                  "--bundle", bundle,   NameOf(place)};
}

}  // namespace partita::service::run
