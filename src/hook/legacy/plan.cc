#include "hook/legacy/plan.h"

#include <algorithm>
#include <string_view>

#include "base/files.h"
#include "hook/cdi/application_profile.h"

namespace partita::hook {
namespace {

using base::ErrorCode;
using base::MakeError;
using cdi::Capability;
using cdi::FileKind;

constexpr std::uint32_t kGpuMajor = 195;
constexpr MountAttributes kFile{.read_only = true, .no_exec = false, .no_devices = true};
constexpr MountAttributes kSocket{.read_only = false, .no_exec = true, .no_devices = true};
constexpr MountAttributes kNodes{.read_only = true, .no_exec = true, .no_devices = false};

std::string LastPart(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Which libraries a capability brings besides those of its own name.
std::set<Capability> Implied(const std::set<Capability>& asked) {
  std::set<Capability> all = asked;
  if (asked.contains(Capability::kVideo)) all.insert(Capability::kCompute);
  if (asked.contains(Capability::kDisplay)) all.insert(Capability::kGraphics);
  return all;
}

class Planner {
 public:
  Planner(const LegacyOrder& order,
          const cdi::NodeDevices& node,
          const HostProc& proc,
          const ImageFacts& image)
      : order_(order),
        node_(node),
        proc_(proc),
        library_capabilities_(Implied(order.capabilities)),
        libraries_(LibraryDirectory(image)),
        libraries32_(LibraryDirectory32(image)) {}

  base::Result<LegacyPlan> Plan() {
    for (const cdi::DriverFile& file : node_.files) AddFile(file);
    if (Asked(Capability::kCompat32)) plan_.library_directories.push_back(libraries32_);
    plan_.library_directories.insert(plan_.library_directories.begin(), libraries_);
    AddLinks(libraries_);
    if (Asked(Capability::kCompat32)) AddLinks(libraries32_);
    TRY_VOID(AddControlNodes());
    for (const cdi::DeviceRow& row : order_.devices) TRY_VOID(AddDevice(row));
    if (order_.mig_config || order_.mig_monitor) TRY_VOID(AddAllCapabilities());
    for (const std::uint32_t channel : order_.imex_channels) TRY_VOID(AddChannel(channel));
    if (library_capabilities_.contains(Capability::kGraphics))
      plan_.egl_mask = VisibleMask(minors_);
    if (!order_.bind_nodes) plan_.nodes.clear();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool Asked(Capability capability) const {
    return order_.capabilities.contains(capability);
  }

  // Binaries and sockets go by what was asked for alone: video needs libraries of compute, not MPS.
  [[nodiscard]] bool Wanted(const cdi::DriverFile& file) const {
    if (file.kind == FileKind::kFirmware) return true;
    if (file.elf32 && !Asked(Capability::kCompat32)) return false;
    const auto& wanted =
        file.kind == FileKind::kLibrary ? library_capabilities_ : order_.capabilities;
    return std::any_of(file.of.begin(), file.of.end(),
                       [&](Capability of) { return wanted.contains(of); });
  }

  // Libraries and programs go where the image's distribution has them, whatever the host is.
  void AddFile(const cdi::DriverFile& file) {
    if (!Wanted(file)) return;
    const std::string name = LastPart(file.container_path);
    switch (file.kind) {
      case FileKind::kLibrary:
        Mount(file.host_path, (file.elf32 ? libraries32_ : libraries_) + "/" + name, kFile);
        return;
      case FileKind::kBinary: Mount(file.host_path, "/usr/bin/" + name, kFile); return;
      case FileKind::kFirmware: Mount(file.host_path, file.container_path, kFile); return;
      case FileKind::kSocket: Mount(file.host_path, file.container_path, kSocket); return;
      // The reference's prestart hook mounts neither.
      case FileKind::kConfig:
      case FileKind::kXorg: return;
    }
  }

  // Two libraries of one name in two of the host's folders: the first is the loader's too.
  void Mount(const std::string& from, const std::string& to, const MountAttributes& attributes) {
    const bool taken =
        std::any_of(plan_.mounts.begin(), plan_.mounts.end(),
                    [&](const MountStep& each) { return each.container_path == to; });
    if (!taken) plan_.mounts.push_back({from, to, attributes});
  }

  // The name of the mounted library that begins so; empty: none.
  [[nodiscard]] std::string Mounted(const std::string& directory, std::string_view prefix) const {
    for (const MountStep& each : plan_.mounts) {
      if (each.container_path.starts_with(directory + "/" + std::string(prefix)))
        return LastPart(each.container_path);
    }
    return "";
  }

  // Those that ldconfig does not make.
  void AddLinks(const std::string& directory) {
    if (!Mounted(directory, "libcuda.so.").empty())
      plan_.links.push_back({"libcuda.so.1", directory + "/libcuda.so"});
    if (const std::string glx = Mounted(directory, "libGLX_nvidia.so."); !glx.empty())
      plan_.links.push_back({glx, directory + "/libGLX_indirect.so.0"});
    if (!Mounted(directory, "libnvidia-opticalflow.so.").empty())
      plan_.links.push_back(
          {"libnvidia-opticalflow.so.1", directory + "/libnvidia-opticalflow.so"});
  }

  void AddNode(const std::string& path, const std::string& host_path, const DeviceRule& rule) {
    const NodeStep step{host_path.empty() ? base::JoinPath(node_.dev_root, path) : host_path, path,
                        rule};
    if (std::find(plan_.nodes.begin(), plan_.nodes.end(), step) != plan_.nodes.end()) return;
    plan_.nodes.push_back(step);
    Allow(rule);
  }
  void Allow(const DeviceRule& rule) {
    if (std::find(plan_.rules.begin(), plan_.rules.end(), rule) == plan_.rules.end())
      plan_.rules.push_back(rule);
  }
  static DeviceRule RuleOf(std::uint32_t major, std::uint32_t minor) {
    return {
        .type = 'c', .major = major, .minor = minor, .read = true, .write = true, .make = false};
  }

  base::Result<void> AddControlNodes() {
    bool has_control = false;
    for (const cdi::DeviceNode& node : node_.control_nodes) {
      const std::string name = LastPart(node.path);
      const bool uvm = name == "nvidia-uvm" || name == "nvidia-uvm-tools";
      const bool modeset = name == "nvidia-modeset";
      has_control |= name == "nvidiactl";
      if (name != "nvidiactl" && !(uvm && Asked(Capability::kCompute)) &&
          !(modeset && Asked(Capability::kDisplay)))
        continue;
      AddNode(
          node.path, node.host_path,
          RuleOf(static_cast<std::uint32_t>(node.major), static_cast<std::uint32_t>(node.minor)));
    }
    if (has_control || order_.devices.empty()) return {};
    return MakeError(ErrorCode::kNotFound, "the device node {} is not there",
                     base::JoinPath(node_.dev_root, "/dev/nvidiactl"))
        .WithHint("is the driver loaded? nvidia-modprobe makes its nodes");
  }

  base::Result<void> AddDevice(const cdi::DeviceRow& row) {
    AddNode(fmt::format("/dev/nvidia{}", row.minor), "", RuleOf(kGpuMajor, row.minor));
    if (minors_.insert(row.minor).second) {
      const auto shown = proc_.gpus.find(row.minor);
      if (shown != proc_.gpus.end()) plan_.proc.gpus.push_back(shown->second);
    }
    if (!row.mig) return {};
    const std::string instance = fmt::format("gpu{}/mig/gi{}", row.minor, row.mig->gi);
    Show(instance + "/access");
    Show(fmt::format("{}/ci{}/access", instance, row.mig->ci));
    // Drivers of the first months of MIG had files in /proc and no nodes.
    if (node_.caps_major == 0) return {};
    for (const std::uint32_t minor : {row.mig->gi_cap, row.mig->ci_cap}) AddCapability(minor);
    return {};
  }

  void Show(const std::string& access) {
    auto& files = plan_.proc.access;
    if (std::find(files.begin(), files.end(), access) == files.end()) files.push_back(access);
  }
  void AddCapability(std::uint32_t minor) {
    AddNode(fmt::format("/dev/nvidia-caps/nvidia-cap{}", minor), "",
            RuleOf(node_.caps_major, minor));
  }

  // "gpu0/mig/gi1/access" of a GPU that was selected.
  [[nodiscard]] bool IsOfGpus(const std::string& file) const {
    return std::any_of(minors_.begin(), minors_.end(), [&](std::uint32_t gpu) {
      return file.starts_with(fmt::format("gpu{}/", gpu));
    });
  }

  // Whoever changes or watches MIG makes and sees instances later: all of the selected GPUs'.
  base::Result<void> AddAllCapabilities() {
    if (node_.caps_major == 0) return {};  // no MIG here: it has no effect
    for (const auto& [file, minor] : proc_.access) {
      const bool asked = (file == "mig/config" && order_.mig_config) ||
                         (file == "mig/monitor" && order_.mig_monitor);
      if (asked || IsOfGpus(file)) Allow(RuleOf(node_.caps_major, minor));
    }
    Mount(base::JoinPath(node_.dev_root, "/dev/nvidia-caps"), "/dev/nvidia-caps", kNodes);
    plan_.proc.all_capabilities = true;
    return {};
  }

  base::Result<void> AddChannel(std::uint32_t channel) {
    if (!order_.imex_major)
      return MakeError(ErrorCode::kNotFound, "IMEX channel {}: this driver has no IMEX channels",
                       channel)
          .WithHint("/proc/devices lists no nvidia-caps-imex-channels");
    AddNode(fmt::format("/dev/nvidia-caps-imex-channels/channel{}", channel), "",
            RuleOf(*order_.imex_major, channel));
    return {};
  }

  const LegacyOrder& order_;
  const cdi::NodeDevices& node_;
  const HostProc& proc_;
  std::set<Capability> library_capabilities_;
  std::string libraries_, libraries32_;
  std::set<std::uint32_t> minors_;
  LegacyPlan plan_;
};

}  // namespace

base::Result<LegacyPlan> PlanLegacy(const LegacyOrder& order,
                                    const cdi::NodeDevices& node,
                                    const HostProc& proc,
                                    const ImageFacts& image) {
  return Planner(order, node, proc, image).Plan();
}

}  // namespace partita::hook
