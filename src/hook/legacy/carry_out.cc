#include "hook/legacy/carry_out.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "hook/cdi/application_profile.h"
#include "hook/cdi/update_ldcache.h"
#include "hook/container/cgroup.h"
#include "hook/container/ldconfig.h"
#include "hook/container/namespaces.h"

namespace partita::hook {
namespace {

using base::ErrnoError;
using base::ErrorCode;
using base::MakeError;
using base::RootDir;
using base::UniqueFd;

constexpr MountAttributes kNode{.read_only = true, .no_exec = true, .no_devices = false};

struct HeldMount {
  std::string path;
  bool directory = false;
  MountAttributes attributes;
  UniqueFd tree;
};
struct Held {
  std::vector<HeldMount> mounts;
  HeldProc proc;
};

base::Result<struct stat> Look(const UniqueFd& fd) {
  struct stat about = {};
  if (fstat(fd.get(), &about) != 0) return ErrnoError("look at a mount");
  return about;
}

// A daemon may have ended since; what it served is not there then.
base::Result<void> HoldFile(const MountStep& step, Held& held) {
  base::Result<UniqueFd> tree = CloneHostTree(step.host_path, step.attributes);
  if (!tree.ok() && tree.error().code() == ErrorCode::kNotFound && !step.attributes.read_only)
    return {};
  if (!tree.ok()) return std::move(tree).error();
  TRY(about, Look(*tree));
  held.mounts.push_back(
      {step.container_path, S_ISDIR(about.st_mode), step.attributes, *std::move(tree)});
  return {};
}

// It is looked at by the descriptor that will be mounted.
base::Result<void> HoldNode(const NodeStep& step, Held& held) {
  TRY(tree, CloneHostTree(step.host_path, kNode));
  TRY(about, Look(tree));
  if (!S_ISCHR(about.st_mode) || gnu_dev_major(about.st_rdev) != step.rule.major ||
      gnu_dev_minor(about.st_rdev) != step.rule.minor)
    return MakeError(ErrorCode::kConflict, "{} is not the device {}:{}", step.host_path,
                     step.rule.major, step.rule.minor)
        .WithHint("nvidia-modprobe makes the driver's nodes anew");
  held.mounts.push_back({step.container_path, false, kNode, std::move(tree)});
  return {};
}

base::Result<Held> Hold(const LegacyPlan& plan) {
  Held held;
  for (const MountStep& step : plan.mounts) TRY_VOID(HoldFile(step, held));
  for (const NodeStep& step : plan.nodes) TRY_VOID(HoldNode(step, held));
  TRY(host, RootDir::Open("/"));
  TRY(proc, HoldProc(host, plan.proc));
  held.proc = std::move(proc);
  return held;
}

// What the image has there is covered; what it has not is made.
base::Result<void> MakeTarget(const RootDir& root, const std::string& path, bool directory) {
  const base::Result<base::FileFacts> there = root.Look(path);
  if (there.ok() && there->IsDirectory() != directory)
    return MakeError(ErrorCode::kConflict, "the image has {} as {}, and the driver as {}", path,
                     there->IsDirectory() ? "a directory" : "a file",
                     directory ? "a directory" : "a file");
  if (there.ok()) return {};
  const std::string parent = directory ? path : path.substr(0, path.rfind('/') + 1);
  TRY(made, root.MakeDirectories(parent, 0755));
  return directory ? base::Result<void>() : root.WriteNew(path, "", 0644);
}

base::Result<void> PlaceMounts(const RootDir& root, const Held& held) {
  for (const HeldMount& mount : held.mounts) {
    TRY_VOID(MakeTarget(root, mount.path, mount.directory));
    TRY(target, MountTarget(root, mount.path));
    TRY_VOID(KeepMountsHere(root, target));
    TRY_VOID(Place(mount.tree, target, mount.attributes), "{}", mount.path);
  }
  return {};
}

// Images of one program have no /etc, or one that is no place for a cache; they run without one.
base::Result<void> MakePlaceForCache(const RootDir& root) {
  const base::Result<bool> own = root.IsOnOwnMount("/etc");
  if (own.ok() && !*own)
    return MakeError(ErrorCode::kUnavailable, "/etc is a mount of the container");
  const auto made = root.MakeDirectories("/etc", 0755);
  if (!made.ok()) return base::Error(made.error()).As(ErrorCode::kUnavailable);
  return {};
}

base::Result<void> UpdateLoader(const RootDir& root,
                                const LegacyPlan& plan,
                                const LegacyContainer& container,
                                const Report& report) {
  // The first that has a library is the loader's; what ld.so.conf lists comes behind all of these.
  std::vector<std::string> directories = plan.library_directories;
  if (container.compat) {
    if (std::optional<std::string> compat = FindCompat(root, *container.compat, report))
      directories.insert(directories.begin(), *std::move(compat));
  }
  base::Result<void> ran = MakePlaceForCache(root);
  if (ran.ok()) ran = RunLdconfig(root, {container.ldconfig, directories});
  if (ran.ok()) return {};
  const ErrorCode code = ran.error().code();
  if (code != ErrorCode::kNotFound && code != ErrorCode::kUnavailable) return ran;
  LinkSonames(root, directories);
  report.Warning(ran.error().ToString() +
                 "; the libraries' links are there, the loader's cache is not");
  return {};
}

base::Result<void> CarryOutInside(const LegacyPlan& plan,
                                  const LegacyContainer& container,
                                  const Held& held,
                                  const Report& report) {
  TRY(root, OpenLegacyRoot(container.root));
  // Refused before anything is made: what ldconfig would wait for.
  TRY(image, ReadImageFacts(root));
  TRY_VOID(PlaceMounts(root, held));
  for (const LinkToMake& link : plan.links) TRY_VOID(root.PutLink(link.target, link.path));
  TRY_VOID(ShowProc(root, held.proc));
  if (plan.egl_mask) TRY_VOID(WriteApplicationProfile(root, *plan.egl_mask));
  return UpdateLoader(root, plan, container, report);
}

}  // namespace

base::Result<void> CarryOut(const LegacyPlan& plan,
                            const LegacyContainer& container,
                            const Report& report) {
  TRY(own, MountNamespace::Own());
  TRY(inside, MountNamespace::Of(container.pid));
  if (inside.IsSame(own))
    return MakeError(ErrorCode::kInvalid, "process {} is in the host's mount namespace",
                     container.pid)
        .WithHint("it must be a container's, made and not yet started");
  TRY(held, Hold(plan));
  TRY_VOID(inside.Enter());
  base::Result<void> done = CarryOutInside(plan, container, held, report);
  TRY_VOID(own.Enter());
  if (!done.ok() || !container.cgroups) return done;
  return AllowDevices(container.pid, plan.rules);
}

}  // namespace partita::hook
