#include "hook/runtime/edit.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "hook/runtime/file_devices.h"
#include "hook/runtime/in_turn.h"
#include "request/device_id.h"
#include "request/mode.h"
#include "request/request.h"
#include "request/require.h"

namespace partita::hook {
namespace {

using base::ErrorCode;
using base::MakeError;
using base::Value;
using cdi::Registry;
using request::Mode;
using Ids = std::vector<std::string>;

// Of specifications that exist only while a container is made.
constexpr std::string_view kAutomaticKind = "runtime.nvidia.com/gpu";
constexpr const char* kCreate = "createContainer";
constexpr const char* kPrestart = "nvidia-container-runtime-hook";
constexpr const char* kHookEnvironment = "NVIDIA_CTK_DEBUG=false";
constexpr const char* kMigMinors = "/proc/driver/nvidia-caps/mig-minors";

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// With an environment: without one a runtime would start it with the image's.
Value HookValue(const std::string& path, const Ids& arguments, const Ids& environment) {
  Value args = Value::List(), env = Value::List();
  for (const std::string& each : arguments) args.Add(each);
  for (const std::string& each : environment) env.Add(each);
  return Value::Map().Set("path", path).Set("args", std::move(args)).Set("env", std::move(env));
}

bool HasId(const Ids& ids, std::string_view id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

const cdi::Device* FindDevice(const cdi::Spec& spec, std::string_view name) {
  for (const cdi::Device& device : spec.devices) {
    if (device.name == name) return &device;
  }
  return nullptr;
}

// The number of a capability in mig-minors: lines like "config 1".
std::optional<std::int64_t> MinorOf(std::string_view text, std::string_view capability) {
  for (const std::string_view line : base::SplitLines(text)) {
    const std::vector<std::string_view> words = base::SplitWords(line);
    if (words.size() != 2 || words[0] != capability) continue;
    const auto number = base::ParseUnsigned(words[1]);
    if (number && *number < (1U << 20)) return static_cast<std::int64_t>(*number);
  }
  return std::nullopt;
}

// What the devices of a request are called: by ids for a specification of ours, or by name in the
// machine's files.
struct RequestedNames {
  Ids automatic;
  std::vector<FileDevice> of_files;
};

class Editor {
 public:
  Editor(oci::Spec& spec, const config::ToolkitConfig& config, const NodeFacts& facts)
      : spec_(spec), config_(config), facts_(facts) {}

  base::Result<Edit> Run() {
    TRY(first, request::ReadRequest(spec_, config_, true));
    request_ = std::move(first);
    if (!facts_.driver_loaded) return RunWithoutDriver();
    if (IsGpu()) TRY_VOID(ChooseMode());
    if (!IsGpu()) {
      edit_.warnings = request_.warnings;
      return edit_;
    }
    Describe();
    const std::size_t others = spec_.hooks(kCreate).size();
    TRY_VOID(mode_ == Mode::kLegacy ? EditForHook() : EditByCdi());
    JoinHooks(others);
    return edit_;
  }

 private:
  void Describe() {
    edit_.changed = true;
    edit_.summary = fmt::format("mode {}: devices {}", request::ToString(mode_),
                                base::Join(RequestedIds(), ","));
    edit_.warnings = request_.warnings;
  }

  [[nodiscard]] bool IsGpu() const { return request_.kind != request::Kind::kNotGpu; }

  // Those who ask for NVIDIA's devices alone start as they are.
  base::Result<Edit> RunWithoutDriver() {
    const auto others = [this](const std::string& kind) {
      std::vector<FileDevice> devices;
      for (const std::string& id : request_.devices) {
        FileDevice device = ReadFileDevice(id, kind);
        if (!device.IsNvidias()) devices.push_back(std::move(device));
      }
      return devices;
    };
    if (others(config_.cdi_default_kind).empty()) return edit_;
    TRY_VOID(ChooseMode());
    const std::vector<FileDevice> devices = others(DefaultKind());
    if (devices.empty()) return edit_;
    if (mode_ == Mode::kLegacy) {
      return MakeError(ErrorCode::kUnsupported, "{}: mode legacy has no devices of other vendors",
                       devices.front().ToString())
          .WithHint("use nvidia-container-runtime.cdi, or let the engine resolve CDI devices");
    }
    Describe();
    for (const std::string& id : request_.devices) {
      const FileDevice device = ReadFileDevice(id, DefaultKind());
      if (device.IsNvidias())
        edit_.warnings.push_back(
            fmt::format("no NVIDIA driver is loaded: {} is left out", device.ToString()));
    }
    TRY_VOID(InjectNamed(devices));
    return edit_;
  }

  // What was added behind the others' own. An engine's hooks are not touched, whatever they call.
  void JoinHooks(std::size_t others) {
    std::vector<Value> added;
    const std::vector<oci::Element>& all = spec_.hooks(kCreate);
    for (std::size_t i = others; i < all.size(); ++i) added.push_back(all[i].value);
    if (added.size() > 1) spec_.ReplaceHooks(kCreate, others, InTurn(added, facts_.hook_program));
  }

  // Annotations are for CDI alone.
  base::Result<void> ChooseMode() {
    TRY(mode, request::ResolveMode(config_.runtime_mode, request_, false));
    mode_ = mode;
    if (mode_ == Mode::kCdi) return {};
    TRY(again, request::ReadRequest(spec_, config_, false));
    request_ = std::move(again);
    return {};
  }

  [[nodiscard]] Ids RequestedIds() const {
    if (request_.kind == request::Kind::kAll) return {"all"};
    if (request_.kind == request::Kind::kNone) return {"none"};
    return request_.devices;
  }

  // Of ids without one.
  [[nodiscard]] std::string DefaultKind() const {
    return mode_ == Mode::kJitCdi ? std::string(kAutomaticKind) : config_.cdi_default_kind;
  }

  [[nodiscard]] base::Result<RequestedNames> NamesOf(const Ids& ids) const {
    RequestedNames names;
    Ids others;
    for (const std::string& id : ids) {
      FileDevice device = ReadFileDevice(id, DefaultKind());
      if (device.kind == kAutomaticKind) {
        names.automatic.push_back(std::move(device.id));
        continue;
      }
      others.push_back(device.ToString());
      names.of_files.push_back(std::move(device));
    }
    if (names.automatic.empty() || names.of_files.empty()) return names;
    return MakeError(ErrorCode::kInvalid,
                     "devices of {} ({}) and of other kinds ({}) in one request", kAutomaticKind,
                     base::Join(names.automatic, ", "), base::Join(others, ", "))
        .WithHint("name all devices with vendor and class, or none");
  }

  base::Result<void> EditByCdi() {
    spec_.RemoveHooks("prestart", IsPrestartTwin);
    TRY(names, NamesOf(RequestedIds()));
    TRY_VOID(names.automatic.empty() ? InjectNamed(names.of_files)
                                     : InjectAutomatic(names.automatic));
    if (config_.restrict_proc.value_or(true)) {
      spec_.AddHook(kCreate, HookValue(facts_.hook_program, {"nvidia-cdi-hook", "restrict-proc"},
                                       {kHookEnvironment}));
    }
    return {};
  }

  base::Result<void> Inject(std::span<const Registry::Found> found, cdi::Order order) {
    TRY_VOID(cdi::Inject(spec_, found, order, facts_.look), "failed to inject CDI devices");
    return {};
  }

  // Devices of the machine's files.
  base::Result<void> InjectNamed(const std::vector<FileDevice>& devices) {
    const Registry registry = facts_.registry();
    TRY(found, FindInFiles(registry, devices, no_device_, facts_.devices),
        "failed to inject CDI devices");
    return Inject(found, cdi::Order::kCommonFirst);
  }

  // Devices of a specification that was made for this container.
  base::Result<void> InjectAutomatic(const Ids& ids) {
    TRY(node, facts_.devices(ids));
    TRY(rows, RowsOf(ids, node));
    if (config_.check_requirements.value_or(false)) {
      TRY_VOID(request::CheckTexts(request_.requirements, request::PropertiesOf(node, rows),
                                   &edit_.warnings));
    }
    Filter(node.spec);
    TRY(found, FoundOf(ids, rows, node.spec));
    TRY_VOID(Inject(found, cdi::Order::kDeviceFirst));
    TRY_VOID(InjectGated());
    TRY_VOID(InjectImexChannels());
    return InjectMigCapabilities(node);
  }

  static base::Result<std::vector<const cdi::DeviceRow*>> RowsOf(const Ids& ids,
                                                                 const cdi::NodeDevices& node) {
    std::vector<const cdi::DeviceRow*> rows;
    if (HasId(ids, "none")) return rows;
    if (!HasId(ids, "all")) return request::Resolve(ids, node);
    for (const cdi::DeviceRow& row : node.rows) rows.push_back(&row);
    return rows;
  }

  base::Result<std::vector<Registry::Found>> FoundOf(const Ids& ids,
                                                     const std::vector<const cdi::DeviceRow*>& rows,
                                                     const cdi::Spec& spec) {
    std::vector<Registry::Found> found;
    if (HasId(ids, "none")) return std::vector{Registry::Found{&spec, &no_device_}};
    if (HasId(ids, "all")) {
      const cdi::Device* all = FindDevice(spec, "all");
      if (all == nullptr) return MakeError(ErrorCode::kNotFound, "this machine offers no device");
      return std::vector{Registry::Found{&spec, all}};
    }
    for (const cdi::DeviceRow* row : rows) {
      const cdi::Device* device = row->cdi_name.empty() ? nullptr : FindDevice(spec, row->cdi_name);
      if (device == nullptr) {
        return MakeError(ErrorCode::kNotFound, "device {} lacks one of its device nodes",
                         row->mig ? row->mig->uuid : row->uuid)
            .WithHint("partita cdi generate names it");
      }
      found.push_back({&spec, device});
    }
    return found;
  }

  // What the configuration leaves out.
  void Filter(cdi::Spec& spec) {
    const Ids& off = config_.jit_disable_hooks;
    bool without_gids = config_.no_additional_gids_for_device_nodes.value_or(false);
    for (const std::string& flag : config_.jit_feature_flags) {
      if (flag == "no-additional-gids-for-device-nodes")
        without_gids = true;
      else
        edit_.warnings.push_back(
            fmt::format("the feature flag {} has no effect here", base::Quoted(flag)));
    }
    const auto filter = [&](cdi::ContainerEdits& edits) {
      std::erase_if(edits.hooks, [&](const cdi::Hook& hook) {
        return HasId(off, "all") || (hook.args.size() > 1 && HasId(off, hook.args[1]));
      });
      if (without_gids) edits.additional_gids.clear();
    };
    filter(spec.edits);
    for (cdi::Device& device : spec.devices) filter(device.edits);
  }

  base::Result<void> InjectGated() {
    for (const std::string& mode : request_.gated_modes) {
      TRY(spec, facts_.mode_spec(mode));
      std::vector<Registry::Found> found;
      if (const cdi::Device* all = FindDevice(spec, "all")) found.push_back({&spec, all});
      for (const cdi::Device& device : spec.devices) {
        if (FindDevice(spec, "all") == nullptr) found.push_back({&spec, &device});
      }
      TRY_VOID(Inject(found, cdi::Order::kDeviceFirst));
    }
    return {};
  }

  base::Result<void> InjectImexChannels() {
    if (request_.imex_channels.empty()) return {};
    TRY(spec, facts_.mode_spec("imex"));
    std::vector<Registry::Found> found;
    for (const std::string& channel : request_.imex_channels) {
      const cdi::Device* device = FindDevice(spec, channel);
      if (device == nullptr)
        return MakeError(ErrorCode::kNotFound, "there is no IMEX channel {}", channel);
      found.push_back({&spec, device});
    }
    return Inject(found, cdi::Order::kDeviceFirst);
  }

  base::Result<void> InjectMigCapabilities(const cdi::NodeDevices& node) {
    if (!request_.mig_config && !request_.mig_monitor) return {};
    const base::Result<std::string> minors = facts_.read_file(kMigMinors);
    if (!minors.ok()) {
      edit_.warnings.emplace_back("no GPU of this machine has MIG: its variables are ignored");
      return {};
    }
    cdi::Spec spec;
    cdi::Device device;
    for (const auto& [asked, name] :
         {std::pair(request_.mig_config, "config"), std::pair(request_.mig_monitor, "monitor")}) {
      if (!asked) continue;
      const std::optional<std::int64_t> minor = MinorOf(*minors, name);
      if (!minor) return MakeError(ErrorCode::kNotFound, "{} has no {}", kMigMinors, name);
      cdi::DeviceNode of;
      of.path = fmt::format("/dev/nvidia-caps/nvidia-cap{}", *minor);
      of.host_path = base::JoinPath(node.dev_root, of.path);
      device.edits.device_nodes.push_back(std::move(of));
    }
    const Registry::Found found{&spec, &device};
    return Inject({&found, 1}, cdi::Order::kDeviceFirst);
  }

  // Legacy mode: the prestart hook does the work, but for what a hook comes too late for.
  base::Result<void> EditForHook() {
    TRY_VOID(InjectGated());
    if (WantsGraphics()) TRY_VOID(InjectGraphicsNodes());
    if (config_.legacy_cuda_compat_mode == "hook" &&
        !config_.disable_cuda_compat_lib_hook.value_or(false))
      TRY_VOID(AddCompatHooks());
    const std::vector<oci::Element>& prestart = spec_.hooks("prestart");
    const bool there = std::any_of(prestart.begin(), prestart.end(), [](const oci::Element& hook) {
      return IsPrestartTwin(hook.value);
    });
    if (there) return {};
    Ids environment = facts_.prestart_env;
    if (environment.empty()) environment.emplace_back(kHookEnvironment);
    spec_.AddHook("prestart",
                  HookValue(facts_.prestart_program, {kPrestart, "prestart"}, environment));
    return {};
  }

  [[nodiscard]] bool WantsGraphics() const {
    return request_.capabilities.contains(cdi::Capability::kGraphics) ||
           request_.capabilities.contains(cdi::Capability::kDisplay);
  }

  // The nodes of DRM, with their links.
  base::Result<void> InjectGraphicsNodes() {
    const Ids ids = RequestedIds();
    TRY(node, facts_.devices(ids));
    TRY(rows, RowsOf(ids, node));
    TRY(found, FoundOf(ids, rows, node.spec));
    cdi::Spec spec;
    cdi::Device device;
    for (const Registry::Found& each : found) {
      for (const cdi::DeviceNode& of : each.device->edits.device_nodes) {
        if (of.path.starts_with("/dev/dri/")) device.edits.device_nodes.push_back(of);
      }
      for (const cdi::Hook& hook : each.device->edits.hooks) {
        if (hook.args.size() > 1 && hook.args[1] == "create-symlinks")
          device.edits.hooks.push_back(hook);
      }
    }
    const Registry::Found only{&spec, &device};
    return Inject({&only, 1}, cdi::Order::kDeviceFirst);
  }

  base::Result<void> AddCompatHooks() {
    TRY(node, facts_.devices(Ids{"none"}));
    for (const Ids& arguments : {Ids{"nvidia-cdi-hook", "enable-cuda-compat",
                                     "--host-driver-version=" + node.driver_version},
                                 Ids{"nvidia-cdi-hook", "update-ldcache"}})
      spec_.AddHook(kCreate, HookValue(facts_.hook_program, arguments, {kHookEnvironment}));
    return {};
  }

  oci::Spec& spec_;
  const config::ToolkitConfig& config_;
  const NodeFacts& facts_;
  request::Request request_;
  Mode mode_ = Mode::kJitCdi;
  const cdi::Device no_device_;
  Edit edit_;
};

}  // namespace

bool IsPrestartTwin(const Value& hook) {
  const auto is_name = [](const Value* value) {
    if (value == nullptr || value->kind() != Value::Kind::kString) return false;
    const std::string_view name = BaseName(value->AsString());
    return name == kPrestart || name == "nvidia-container-toolkit";
  };
  const Value* args = hook.Find("args");
  const bool has_args =
      args != nullptr && args->kind() == Value::Kind::kList && !args->items().empty();
  return is_name(hook.Find("path")) || (has_args && is_name(&args->items().front()));
}

base::Result<Edit> EditSpec(oci::Spec& spec,
                            const config::ToolkitConfig& config,
                            const NodeFacts& facts) {
  return Editor(spec, config, facts).Run();
}

}  // namespace partita::hook
