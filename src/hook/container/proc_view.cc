#include "hook/container/proc_view.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/text.h"
#include "hook/container/mounts.h"

namespace partita::hook {
namespace {

using base::ErrorCode;
using base::MakeError;
using base::RootDir;
using base::UniqueFd;

constexpr std::string_view kModify = "ModifyDeviceFiles:";
constexpr std::uint32_t kGpuMajor = 195;      // that the driver takes, whatever else is loaded
constexpr std::uint32_t kModesetMinor = 254;  // the driver's own nodes begin here
constexpr char kBelowProc[] = "/driver/nvidia";
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

std::vector<std::string> EntriesOf(const RootDir& root, const std::string& directory) {
  base::Result<std::vector<std::string>> names = root.List(directory);
  return names.ok() ? *std::move(names) : std::vector<std::string>();
}

// The directory itself, not what a link leads to.
base::Result<RootDir> OpenDirectory(const RootDir& root, const std::string& path) {
  TRY(directory, root.OpenAt(path, O_PATH | O_DIRECTORY | O_NOFOLLOW));
  return RootDir::At(std::move(directory), root.name() + path);
}

void CountNodes(const RootDir& directory,
                std::optional<std::uint32_t> caps_major,
                InjectedNodes& nodes) {
  for (const std::string& name : EntriesOf(directory, "/")) {
    const base::Result<base::FileFacts> facts = directory.Look("/" + name);
    if (!facts.ok() || !facts->IsCharDevice()) continue;
    const std::uint32_t major = gnu_dev_major(facts->device), minor = gnu_dev_minor(facts->device);
    if (major == kGpuMajor && minor < kModesetMinor) nodes.gpus.insert(minor);
    if (caps_major && major == *caps_major) nodes.capabilities.insert(minor);
  }
}

// The tree is the kernel's, four deep; what lies deeper is not of this driver.
void ReadAccess(const RootDir& host, const std::string& below, int depth, HostProc& proc) {
  constexpr int kDeepest = 5;
  const std::string base_path = std::string(kDriverProc) + "/capabilities";
  for (const std::string& name : EntriesOf(host, base_path + below)) {
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

std::optional<std::uint32_t> MajorOf(std::string_view proc_devices, std::string_view name) {
  for (const std::string_view line : base::SplitLines(proc_devices)) {
    if (line.starts_with("Block devices")) break;
    const std::vector<std::string_view> words = base::SplitWords(line);
    if (words.size() != 2 || words[1] != name) continue;
    if (const auto number = base::ParseUnsigned(words[0]))
      return static_cast<std::uint32_t>(*number);
  }
  return std::nullopt;
}

HostProc ReadHostProc(const RootDir& host) {
  HostProc proc = ReadHostGpus(host);
  ReadAccess(host, "", 0, proc);
  return proc;
}

HostProc ReadHostGpus(const RootDir& host) {
  HostProc proc;
  const base::Result<std::string> devices = host.Read("/proc/devices", kMostText);
  if (devices.ok()) proc.caps_major = MajorOf(*devices, "nvidia-caps");
  const std::string gpus = std::string(kDriverProc) + "/gpus";
  for (const std::string& name : EntriesOf(host, gpus)) {
    const base::Result<std::string> text =
        host.Read(fmt::format("{}/{}/information", gpus, name), kMostText);
    const auto minor = text.ok() ? NumberOf(*text, "Device Minor") : std::nullopt;
    if (minor) proc.gpus.emplace(*minor, name);
  }
  return proc;
}

InjectedNodes ReadInjectedNodes(const RootDir& root, std::optional<std::uint32_t> caps_major) {
  InjectedNodes nodes;
  const base::Result<RootDir> dev = OpenDirectory(root, "/dev");
  if (!dev.ok()) return nodes;
  CountNodes(*dev, caps_major, nodes);
  const base::Result<RootDir> caps = OpenDirectory(*dev, "/nvidia-caps");
  if (caps.ok()) CountNodes(*caps, caps_major, nodes);
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
    // Older drivers lack some. What cannot be read now must not pass for a machine without a
    // driver.
    if (!text.ok() && text.error().code() == ErrorCode::kNotFound) continue;
    if (!text.ok()) return std::move(text).error();
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

base::Result<RootDir> OpenProc(const RootDir& root) {
  TRY(proc, MountTarget(root, "/proc"));
  struct statfs about = {};
  if (fstatfs(proc.get(), &about) != 0) return base::ErrnoError("look at /proc");
  if (about.f_type != PROC_SUPER_MAGIC)
    return MakeError(ErrorCode::kDenied, "/proc in {} is not the kernel's", root.name())
        .WithHint("let the runtime mount proc at /proc");
  return RootDir::At(std::move(proc), root.name() + "/proc");
}

base::Result<void> ShowProc(const RootDir& root, const HeldProc& held) {
  if (held.texts.empty() && held.trees.empty()) return {};
  TRY(proc, OpenProc(root));
  TRY(target, MountTarget(proc, kBelowProc));
  TRY_VOID(KeepMountsHere(root, target));
  TRY(tree, NewTmpfs(0555, kMostText));
  TRY_VOID(Attach(tree, target), "cover {}", kDriverProc);
  TRY(memory, RootDir::At(UniqueFd(fcntl(tree.get(), F_DUPFD_CLOEXEC, 0)), kDriverProc));
  for (const auto& [name, text] : held.texts) TRY_VOID(memory.WriteNew(name, text, 0444));
  TRY(gpus, memory.MakeDirectories("/gpus", 0555));
  for (const HeldProc::Tree& each : held.trees) TRY_VOID(Show(memory, each));
  return SetAttributes(tree, kShown);
}

}  // namespace partita::hook
