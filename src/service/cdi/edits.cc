#include "service/cdi/edits.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cdi/name.h"
#include "model/profile_name.h"

namespace partita::service::cdi {

namespace {

using base::ErrorCode;
using base::Result;
using partita::cdi::ContainerEdits;
using partita::cdi::DeviceNode;
using partita::cdi::DriverFile;
using partita::cdi::FileKind;
using partita::cdi::Hook;

constexpr std::string_view kHooks[] = {
    "chmod",
    "create-symlinks",
    "disable-device-node-modification",
    "enable-cuda-compat",
    "update-application-profile",
    "update-ldcache",
};

// The reference stopped to make these unless asked: they worked around a defect of old crun.
constexpr std::string_view kOffByDefault[] = {"chmod"};

constexpr std::string_view kControlNodes[] = {
    "/dev/nvidia-modeset",
    "/dev/nvidia-uvm-tools",
    "/dev/nvidia-uvm",
    "/dev/nvidiactl",
};

const std::vector<std::string> kFileOptions = {"ro", "nosuid", "nodev", "rbind", "rprivate"};
// Not read-only: whoever connects to a socket writes to it.
const std::vector<std::string> kSocketOptions = {"nosuid", "nodev", "rbind", "rprivate", "noexec"};

// A node that is not there, or stands for another device; the driver's own tool makes it.
base::Error Missing(const std::string& node,
                    std::string_view of,
                    std::string_view tool,
                    const DeviceFiles& devices,
                    const Places& places) {
  const std::string path = base::JoinPath(places.dev_root, node);
  const auto foreign = devices.foreign.find(node);
  if (foreign == devices.foreign.end()) {
    return base::MakeError(ErrorCode::kNotFound, "{} is missing, which {} needs", path, of)
        .WithHint(fmt::format("{} makes it", tool));
  }
  return base::MakeError(ErrorCode::kConflict, "{} {}, which {} needs", path, foreign->second, of)
      .WithHint(fmt::format("remove it; {} makes the right one", tool));
}

Result<std::string> GpuNode(const model::Gpu& gpu,
                            const DeviceFiles& devices,
                            const Places& places) {
  if (!gpu.minor) {
    return base::MakeError(ErrorCode::kNotFound, "the driver does not say which device node {} has",
                           Called(gpu));
  }
  std::string node = fmt::format("/dev/nvidia{}", gpu.minor->value());
  if (!devices.nodes.contains(node)) {
    return Missing(node, Called(gpu), fmt::format("nvidia-modprobe -u -c {}", *gpu.minor), devices,
                   places);
  }
  return node;
}

Result<std::string> CapabilityNode(const std::optional<model::CapabilityMinor>& minor,
                                   const std::string& of,
                                   const std::string& access_file,
                                   const DeviceFiles& devices,
                                   const Places& places) {
  if (!minor) {
    return base::MakeError(ErrorCode::kNotFound,
                           "/proc/driver/nvidia-caps/mig-minors does not list {}", of)
        .WithHint("this driver lets nobody open a slice on its own");
  }
  std::string node = fmt::format("/dev/nvidia-caps/nvidia-cap{}", minor->value());
  if (!devices.nodes.contains(node)) {
    return Missing(node, of, fmt::format("nvidia-modprobe -f {}", access_file), devices, places);
  }
  return node;
}

// The GPU's DRM nodes that exist, and the by-path links to them.
void AddDrm(const model::Gpu& gpu,
            const DeviceFiles& devices,
            const Places& places,
            const HookSet& hooks,
            ContainerEdits& edits) {
  const auto names = devices.drm.find(gpu.pci);
  if (names == devices.drm.end()) return;
  std::set<std::string> added;
  for (const std::string& name : names->second) {
    const std::string node = base::JoinPath("/dev/dri", name);
    if (!devices.nodes.contains(node)) continue;
    AddNode(node, devices, places, hooks, edits);
    added.insert(name);
  }
  const std::string prefix = fmt::format("/dev/dri/by-path/pci-{}-", gpu.pci.ToString());
  std::vector<Link> links;
  for (const Link& link : devices.by_path) {
    if (!link.link.starts_with(prefix)) continue;
    const std::string_view folder = FolderOf(link.target);
    const bool to_dri = folder == ".." || folder == "/dev/dri";
    if (to_dri && added.contains(std::string(NameOf(link.target)))) links.push_back(link);
  }
  AddHook(hooks.MakeLinks(links), edits);
}

bool CanDraw(const model::GpuInstance& instance) {
  const Result<model::ProfileName> name = model::ProfileName::Parse(instance.profile_name);
  return name.ok() && std::find(name->with.begin(), name->with.end(), "gfx") != name->with.end();
}

// "lib?*.so" and "lib?*.so.*"
bool IsLibraryName(std::string_view name) {
  if (!MatchesPattern(name, "lib?*.so*")) return false;
  const std::string_view rest = name.substr(name.rfind(".so") + 3);
  return rest.empty() || rest.starts_with('.');
}

std::vector<std::string> FolderArguments(const DriverFiles& driver) {
  std::vector<std::string> arguments;
  std::set<std::string> seen;
  for (const DriverFile& file : driver.driver) {
    if (file.kind != FileKind::kLibrary || !IsLibraryName(NameOf(file.container_path))) continue;
    std::string folder(FolderOf(file.container_path));
    if (!seen.insert(folder).second) continue;
    arguments.emplace_back("--folder");
    arguments.push_back(std::move(folder));
  }
  return arguments;
}

void AddDriver(const DriverFiles& driver, const HookSet& hooks, ContainerEdits& edits) {
  for (const DriverFile& file : driver.driver) AddMount(file, edits);
  AddHook(hooks.MakeLinks(driver.driver_links), edits);
  // Before the cache is made: it writes a file that ldconfig reads.
  AddHook(hooks.Make("enable-cuda-compat", {"--host-driver-version=" + driver.version}), edits);
  std::vector<std::string> folders = FolderArguments(driver);
  if (!folders.empty()) {
    if (!hooks.ldconfig_path.empty())
      folders.insert(folders.begin(), {"--ldconfig-path", hooks.ldconfig_path});
    AddHook(hooks.Make("update-ldcache", std::move(folders)), edits);
  }
  AddHook(hooks.Make("disable-device-node-modification", {}), edits);
  edits.env.push_back("NVIDIA_CTK_LIBCUDA_DIR=" + base::Join(driver.library_directories, ":"));
}

base::Error NoName(std::string_view what, std::string_view of) {
  return base::MakeError(ErrorCode::kNotFound, "the driver does not say the {} of {}", what, of);
}

}  // namespace

std::span<const std::string_view> HookNames() { return kHooks; }

std::optional<Hook> HookSet::Make(std::string_view name, std::vector<std::string> arguments) const {
  const std::string text(name);
  const bool off = disabled.contains(text) || disabled.contains("all") ||
                   std::find(std::begin(kOffByDefault), std::end(kOffByDefault), name) !=
                       std::end(kOffByDefault);
  if (off && !enabled.contains(text)) return std::nullopt;
  Hook hook{.hook_name = "createContainer", .path = path, .args = {}, .env = {}, .timeout = {}};
  hook.args.push_back(first_argument);
  // Under that name hooks are a command among others.
  if (first_argument == "nvidia-ctk") hook.args.emplace_back("hook");
  hook.args.push_back(text);
  hook.args.insert(hook.args.end(), arguments.begin(), arguments.end());
  hook.env = {"NVIDIA_CTK_DEBUG=false"};
  return hook;
}

std::optional<Hook> HookSet::MakeLinks(std::span<const Link> links) const {
  if (links.empty()) return std::nullopt;
  std::vector<std::string> arguments;
  for (const Link& link : links) {
    arguments.emplace_back("--link");
    arguments.push_back(link.target + "::" + link.link);
  }
  return Make("create-symlinks", std::move(arguments));
}

void AddNode(const std::string& path,
             const DeviceFiles& devices,
             const Places& places,
             const HookSet& hooks,
             ContainerEdits& edits) {
  DeviceNode node;
  node.path = path;
  if (places.dev_root != "/") node.host_path = base::JoinPath(places.dev_root, path);
  const auto found = devices.nodes.find(path);
  if (found != devices.nodes.end()) {
    const base::FileFacts& facts = found->second;
    node.major = major(facts.device);
    node.minor = minor(facts.device);
    const std::uint32_t mode = facts.mode & 07777U;
    if (mode != 0) node.file_mode = mode;
    node.permissions = "rwm";
    if (facts.gid != 0) node.gid = facts.gid;
    const bool everybody = (mode & 06U) == 06U;
    if (hooks.additional_gids && facts.gid != 0 && mode != 0 && !everybody)
      edits.additional_gids.push_back(facts.gid);
  }
  edits.device_nodes.push_back(std::move(node));
}

void AddMount(const DriverFile& file, ContainerEdits& edits) {
  edits.mounts.push_back({.host_path = file.host_path,
                          .container_path = file.container_path,
                          .options = file.kind == FileKind::kSocket ? kSocketOptions : kFileOptions,
                          .type = ""});
}

void AddHook(std::optional<Hook> hook, ContainerEdits& edits) {
  if (hook) edits.hooks.push_back(*std::move(hook));
}

Result<ContainerEdits> GpuEdits(const model::Gpu& gpu,
                                const DeviceFiles& devices,
                                const Places& places,
                                const HookSet& hooks) {
  TRY(node, GpuNode(gpu, devices, places));
  ContainerEdits edits;
  AddNode(node, devices, places, hooks, edits);
  const std::size_t before = edits.device_nodes.size();
  AddDrm(gpu, devices, places, hooks, edits);
  if (edits.device_nodes.size() > before)
    AddHook(hooks.Make("chmod", {"--mode", "755", "--path", "/dev/dri"}), edits);
  return edits;
}

Result<ContainerEdits> MigEdits(const model::Gpu& gpu,
                                const model::GpuInstance& instance,
                                const model::ComputeInstance& compute,
                                const DeviceFiles& devices,
                                const Places& places,
                                const HookSet& hooks) {
  TRY(node, GpuNode(gpu, devices, places));
  const std::string of_gpu = fmt::format("GPU instance {} of {}", instance.id, Called(gpu));
  const std::string folder =
      fmt::format("/proc/driver/nvidia/capabilities/gpu{}/mig/gi{}", *gpu.minor, instance.id);
  TRY(gpu_cap, CapabilityNode(instance.access, of_gpu, folder + "/access", devices, places));
  const std::string of_compute = fmt::format("compute instance {} of {}", compute.id, of_gpu);
  const std::string access = fmt::format("{}/ci{}/access", folder, compute.id);
  TRY(compute_cap, CapabilityNode(compute.access, of_compute, access, devices, places));
  ContainerEdits edits;
  for (const std::string& path : {node, gpu_cap, compute_cap})
    AddNode(path, devices, places, hooks, edits);
  if (CanDraw(instance)) AddDrm(gpu, devices, places, hooks, edits);
  return edits;
}

ContainerEdits CommonEdits(const DriverFiles& driver,
                           const DeviceFiles& devices,
                           const Places& places,
                           const HookSet& hooks) {
  ContainerEdits edits;
  for (const std::string_view path : kControlNodes) {
    const std::string node(path);
    if (devices.nodes.contains(node)) AddNode(node, devices, places, hooks, edits);
  }
  for (const DriverFile& file : driver.graphics) AddMount(file, edits);
  AddHook(hooks.MakeLinks(driver.graphics_links), edits);
  AddDriver(driver, hooks, edits);
  AddHook(hooks.Make("update-application-profile", {}), edits);
  return edits;
}

ContainerEdits ManagementEdits(const DriverFiles& driver, const HookSet& hooks) {
  HookSet kept = hooks;
  // Whoever manages the node makes nodes.
  kept.disabled.insert("disable-device-node-modification");
  ContainerEdits edits;
  AddDriver(driver, kept, edits);
  return edits;
}

Result<std::vector<std::string>> Names(const model::Gpu& gpu,
                                       const model::ComputeInstance* compute,
                                       std::span<const Naming> namings) {
  std::vector<std::string> names;
  for (const Naming naming : namings) {
    if (naming == Naming::kUuid) {
      const std::string uuid = compute != nullptr ? compute->uuid.value()
                               : gpu.uuid         ? gpu.uuid->value()
                                                  : "";
      if (uuid.empty()) return NoName("UUID", Called(gpu));
      names.push_back(partita::cdi::DeviceNameFor(uuid));
      continue;
    }
    const bool typed = naming == Naming::kTypeIndex;
    if (!gpu.index) return NoName("index", Called(gpu));
    if (compute == nullptr) {
      names.push_back(fmt::format("{}{}", typed ? "gpu" : "", *gpu.index));
      continue;
    }
    if (!compute->slot) return NoName("index", "a MIG device of " + Called(gpu));
    names.push_back(fmt::format("{}{}:{}", typed ? "mig" : "", *gpu.index, *compute->slot));
  }
  return names;
}

std::string Called(const model::Gpu& gpu) {
  return gpu.index ? fmt::format("GPU {}", *gpu.index) : "the GPU at " + gpu.pci.ToString();
}

}  // namespace partita::service::cdi
