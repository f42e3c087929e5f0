#include "hook/container/proc_view.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include "base/text.h"
#include "hook/container/mounts.h"

namespace partita::hook {
namespace {

using base::ErrorCode;
using base::RootDir;
using base::UniqueFd;

constexpr std::string_view kModify = "ModifyDeviceFiles:";
constexpr std::uint32_t kGpuMajor = 195;  // that the driver takes, whatever else is loaded
constexpr std::size_t kMostText = std::size_t{1} << 20;
constexpr MountAttributes kShown{.read_only = true, .no_exec = true, .no_devices = true};

// "Device Minor: \t 7" in a text of such lines.
std::optional<std::uint32_t> NumberOf(std::string_view text, std::string_view key) {
  for (const std::string_view line : base::SplitLines(text)) {
    const auto rest = base::WithoutPrefix(line, key);
    if (!rest || !rest->starts_with(':')) continue;
    const auto number = base::ParseUnsigned(base::Trim(rest->substr(1)));
    if (number && *number <= UINT32_MAX) return static_cast<std::uint32_t>(*number);
  }
  return std::nullopt;
}

// "nvidia12" and the minor of what is there, if it is a character device.
std::optional<std::uint32_t> MinorOf(const RootDir& root,
                                     const std::string& directory,
                                     const std::string& name,
                                     std::string_view prefix,
                                     std::optional<std::uint32_t> wanted_major) {
  const auto digits = base::WithoutPrefix(name, prefix);
  if (!digits || !base::ParseUnsigned(*digits)) return std::nullopt;
  const base::Result<base::FileFacts> facts = root.Look(directory + "/" + name);
  if (!facts.ok() || !facts->IsCharDevice()) return std::nullopt;
  if (wanted_major && gnu_dev_major(facts->device) != *wanted_major) return std::nullopt;
  return gnu_dev_minor(facts->device);
}

std::vector<std::string> Names(const RootDir& root, const std::string& directory) {
  base::Result<std::vector<std::string>> names = root.List(directory);
  return names.ok() ? *std::move(names) : std::vector<std::string>();
}

// The tree is the kernel's, four deep; what lies deeper is not of this driver.
void ReadAccess(const RootDir& host, const std::string& below, int depth, HostProc& proc) {
  constexpr int kDeepest = 5;
  const std::string base_path = std::string(kDriverProc) + "/capabilities";
  for (const std::string& name : Names(host, base_path + below)) {
    const std::string path = fmt::format("{}/{}", below, name);
    const base::Result<base::FileFacts> facts = host.Look(base_path + path);
    if (facts.ok() && facts->IsDirectory() && depth < kDeepest)
      ReadAccess(host, path, depth + 1, proc);
    if (!facts.ok() || !facts->IsRegular()) continue;
    const base::Result<std::string> text = host.Read(base_path + path, kMostText);
    const auto minor = text.ok() ? NumberOf(*text, "DeviceFileMinor") : std::nullopt;
    if (minor) proc.access.emplace_back(path.substr(1), *minor);
  }
}

base::Result<HeldProc::Tree> Hold(const std::string& below, bool directory) {
  TRY(tree, CloneHostTree(fmt::format("{}/{}", kDriverProc, below), kShown));
  return HeldProc::Tree{below, directory, std::move(tree)};
}

// Puts it at the same place in the file system in memory, which is attached by now.
base::Result<void> Show(const RootDir& memory, const HeldProc::Tree& held) {
  const std::string path = "/" + held.path;
  TRY(made, memory.MakeDirectories(held.directory ? path : path.substr(0, path.rfind('/')), 0555));
  if (!held.directory) TRY_VOID(memory.WriteNew(path, "", 0444));
  TRY(target, MountTarget(memory, path));
  return Place(held.tree, target, kShown);
}

}  // namespace

std::optional<std::string> ProtectedParams(std::string_view params) {
  std::string text;
  bool changed = false;
  for (const std::string_view line : base::SplitLines(params)) {
    const auto value = base::WithoutPrefix(line, kModify);
    if (value && base::Trim(*value) != "0") {
      text += std::string(kModify) + " 0\n";
      changed = true;
    } else {
      text += std::string(line) + "\n";
    }
  }
  return changed ? std::optional(text) : std::nullopt;
}

HostProc ReadHostProc(const RootDir& host) {
  HostProc proc;
  const std::string gpus = std::string(kDriverProc) + "/gpus";
  for (const std::string& name : Names(host, gpus)) {
    const base::Result<std::string> text =
        host.Read(fmt::format("{}/{}/information", gpus, name), kMostText);
    const auto minor = text.ok() ? NumberOf(*text, "Device Minor") : std::nullopt;
    if (minor) proc.gpus.emplace(*minor, name);
  }
  ReadAccess(host, "", 0, proc);
  return proc;
}

InjectedNodes ReadInjectedNodes(const RootDir& root) {
  InjectedNodes nodes;
  for (const std::string& name : Names(root, "/dev")) {
    if (const auto minor = MinorOf(root, "/dev", name, "nvidia", kGpuMajor))
      nodes.gpus.insert(*minor);
  }
  for (const std::string& name : Names(root, "/dev/nvidia-caps")) {
    if (const auto minor = MinorOf(root, "/dev/nvidia-caps", name, "nvidia-cap", std::nullopt))
      nodes.capabilities.insert(*minor);
  }
  return nodes;
}

ProcView ViewFor(const InjectedNodes& nodes, const HostProc& host) {
  ProcView view;
  for (const auto& [minor, name] : host.gpus) {
    if (nodes.gpus.contains(minor)) view.gpus.push_back(name);
  }
  for (const auto& [file, minor] : host.access) {
    if (nodes.capabilities.contains(minor)) view.access.push_back(file);
  }
  return view;
}

base::Result<HeldProc> HoldProc(const RootDir& host, const ProcView& view) {
  HeldProc held;
  for (const char* name : {"params", "version", "registry"}) {
    base::Result<std::string> text = host.Read(fmt::format("{}/{}", kDriverProc, name), kMostText);
    if (!text.ok()) continue;  // older drivers lack some
    const bool params = std::string_view(name) == "params";
    held.texts.emplace_back(name, params ? ProtectedParams(*text).value_or(*text) : *text);
  }
  for (const std::string& gpu : view.gpus) {
    TRY(tree, Hold("gpus/" + gpu, true));
    held.trees.push_back(std::move(tree));
  }
  if (view.all_capabilities) {
    TRY(tree, Hold("capabilities", true));
    held.trees.push_back(std::move(tree));
    return held;
  }
  for (const std::string& file : view.access) {
    TRY(tree, Hold("capabilities/" + file, false));
    held.trees.push_back(std::move(tree));
  }
  return held;
}

base::Result<void> ShowProc(const RootDir& root, const HeldProc& held) {
  base::Result<UniqueFd> target = MountTarget(root, kDriverProc);
  if (!target.ok() && target.error().code() == ErrorCode::kNotFound) return {};
  if (!target.ok()) return std::move(target).error();
  TRY_VOID(KeepMountsHere(root, *target));
  TRY(tree, NewTmpfs(0555, kMostText));
  TRY_VOID(Attach(tree, *target), "cover {}", kDriverProc);
  TRY(memory, RootDir::At(UniqueFd(fcntl(tree.get(), F_DUPFD_CLOEXEC, 0)), kDriverProc));
  for (const auto& [name, text] : held.texts) TRY_VOID(memory.WriteNew(name, text, 0444));
  TRY(gpus, memory.MakeDirectories("/gpus", 0555));
  for (const HeldProc::Tree& each : held.trees) TRY_VOID(Show(memory, each));
  return SetAttributes(tree, kShown);
}

}  // namespace partita::hook
