#include "request/request.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "cdi/name.h"
#include "request/device_id.h"

namespace partita::request {
namespace {

using base::ErrorCode;
using base::MakeError;
using cdi::Capability;

constexpr const char* kVisible = "NVIDIA_VISIBLE_DEVICES";
constexpr const char* kImex = "NVIDIA_IMEX_CHANNELS";
constexpr const char* kCapabilities = "NVIDIA_DRIVER_CAPABILITIES";
constexpr std::string_view kMountRoot = "/var/run/nvidia-container-devices/";

struct GatedMode {
  const char* variable;
  const char* mode;
};
constexpr std::array kGatedModes = {
    GatedMode{"NVIDIA_GDS", "gds"},
    GatedMode{"NVIDIA_MOFED", "mofed"},
    GatedMode{"NVIDIA_GDRCOPY", "gdrcopy"},
    GatedMode{"NVIDIA_NVSWITCH", "nvswitch"},
};

// Words as Go's strconv.ParseBool takes them.
bool IsTrue(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "true", "TRUE", "True"};
  return std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end();
}

// Items of a list without spaces and empty ones.
void AddItems(std::string_view list, std::vector<std::string>& items) {
  for (const std::string_view piece : base::Split(list, ',')) {
    const std::string_view item = base::Trim(piece);
    if (!item.empty()) items.emplace_back(item);
  }
}

// The first of each. By a set: lists are as long as whoever wrote the image likes.
std::vector<std::string> Unique(std::vector<std::string> items) {
  std::set<std::string, std::less<>> seen;
  std::erase_if(items, [&](const std::string& item) { return !seen.insert(item).second; });
  return items;
}

std::vector<std::string> Items(std::string_view list) {
  std::vector<std::string> items;
  AddItems(list, items);
  return Unique(std::move(items));
}

Kind KindOf(const std::vector<std::string>& ids) {
  std::optional<Kind> word;
  for (const std::string& id : ids) {
    const std::string lower = base::ToLower(id);
    if (lower == "void") return Kind::kNotGpu;
    if (!word && lower == "all") word = Kind::kAll;
    if (!word && lower == "none") word = Kind::kNone;
  }
  if (word) return *word;
  return ids.empty() ? Kind::kNotGpu : Kind::kDevices;
}

std::string TextOf(const base::Value& map, std::string_view member) {
  const base::Value* value = map.Find(member);
  return value != nullptr && value->kind() == base::Value::Kind::kString ? value->AsString() : "";
}

// "a/b" of "a//./b/"; nothing where it leads up.
std::optional<std::string> CleanPath(std::string_view path) {
  std::vector<std::string> parts;
  for (const std::string_view part : base::Split(path, '/')) {
    if (part == "..") return std::nullopt;
    if (!part.empty() && part != ".") parts.emplace_back(part);
  }
  return base::Join(parts, "/");
}

// "nvidia.com/gpu=0" of "nvidia.com/gpu=0" or "nvidia.com/gpu/0".
std::optional<std::string> QualifiedOf(const std::string& path) {
  if (cdi::ParseName(path).ok()) return path;
  const std::size_t klass = path.find('/');
  const std::size_t name = klass == std::string::npos ? klass : path.find('/', klass + 1);
  if (name == std::string::npos) return std::nullopt;
  std::string qualified = path;
  qualified[name] = '=';
  return cdi::ParseName(qualified).ok() ? std::optional(qualified) : std::nullopt;
}

class Reader {
 public:
  Reader(const oci::Spec& spec, const config::ToolkitConfig& config)
      : spec_(spec), config_(config) {
    is_legacy_image_ = !Env("CUDA_VERSION").empty() && Env("NVIDIA_REQUIRE_CUDA").empty();
    if (config.accept_volume_mounts) ReadMounts();
  }

  base::Result<Request> Read(bool with_annotations) {
    ReadDevices(with_annotations);
    if (request_.kind == Kind::kNotGpu) return request_;
    TRY_VOID(ReadImexChannels());
    for (const GatedMode& row : kGatedModes) {
      if (Env(row.variable) == "enabled") request_.gated_modes.emplace_back(row.mode);
    }
    TRY_VOID(ReadMigVariables());
    ReadCapabilities();
    ReadRequirements();
    return request_;
  }

 private:
  [[nodiscard]] std::string Env(const char* name) const { return spec_.Env(name).value_or(""); }
  [[nodiscard]] bool TrustsEnvironment() const {
    return config_.accept_envvar_unprivileged || spec_.privileged();
  }

  void ReadDevices(bool with_annotations) {
    if (with_annotations && Take(Source::kAnnotations, FromAnnotations())) return;
    if (Take(Source::kMounts, mounted_)) return;
    std::vector<std::string> names;
    const std::vector<std::string> ids = FromEnvironment(names);
    if (TrustsEnvironment()) {
      Take(Source::kEnvironment, ids);
    } else if (KindOf(ids) != Kind::kNotGpu) {
      request_.warnings.push_back(
          fmt::format("devices of {} are ignored: the container is not privileged, and "
                      "accept-nvidia-visible-devices-envvar-when-unprivileged is false",
                      base::Join(names, ", ")));
    }
  }

  // False: it names nothing.
  bool Take(Source source, const std::vector<std::string>& ids) {
    if (ids.empty()) return false;
    request_.source = source;
    request_.kind = KindOf(ids);
    if (request_.kind == Kind::kDevices) request_.devices = Unique(ids);
    return true;
  }

  [[nodiscard]] std::vector<std::string> FromAnnotations() const {
    std::vector<std::string> ids;
    for (const auto& [key, value] : spec_.annotations()) {
      const bool meant = std::any_of(
          config_.cdi_annotation_prefixes.begin(), config_.cdi_annotation_prefixes.end(),
          [&name = key](const std::string& prefix) { return name.starts_with(prefix); });
      if (meant) AddItems(value, ids);
    }
    return ids;
  }

  // Engines whose users may not set variables give /dev/null mounts instead.
  void ReadMounts() {
    for (const oci::Element& mount : spec_.mounts()) {
      const std::string destination = TextOf(mount.value, "destination");
      const auto below = base::WithoutPrefix(destination, kMountRoot);
      if (!below || TextOf(mount.value, "source") != "/dev/null") continue;
      const std::optional<std::string> id = CleanPath(*below);
      if (!id || !AddMounted(*id))
        request_.warnings.push_back(fmt::format("the mount {} asks for no device: it is ignored",
                                                base::Quoted(destination)));
    }
  }

  bool AddMounted(const std::string& id) {
    if (const auto channel = base::WithoutPrefix(id, "imex/")) {
      AddItems(*channel, mounted_channels_);
      return !channel->empty();
    }
    const auto path = base::WithoutPrefix(id, "cdi/");
    const std::optional<std::string> name = path ? QualifiedOf(std::string(*path)) : id;
    if (!name || name->empty()) return false;
    AddItems(*name, mounted_);
    return true;
  }

  // `names`: the variables that were looked at.
  [[nodiscard]] std::vector<std::string> FromEnvironment(std::vector<std::string>& names) const {
    for (const std::string& name : Items(config_.swarm_resource)) {
      if (spec_.Env(name)) names.push_back(name);
    }
    if (names.empty()) names.emplace_back(kVisible);
    std::vector<std::string> ids;
    bool is_set = false;
    for (const std::string& name : names) {
      const std::optional<std::string> value = spec_.Env(name);
      is_set = is_set || value.has_value();
      AddItems(value.value_or(""), ids);
    }
    // Images from before the variable existed.
    if (!is_set && is_legacy_image_) ids = {"all"};
    return ids;
  }

  base::Result<void> ReadImexChannels() {
    if (config_.ignore_imex_channel_requests.value_or(false)) return {};
    std::vector<std::string> channels = Unique(mounted_channels_);
    if (channels.empty()) {
      channels = Items(Env(kImex));
      const Kind kind = KindOf(channels);
      if (kind != Kind::kDevices) channels.clear();
      if (!channels.empty() && !TrustsEnvironment()) {
        request_.warnings.push_back(
            fmt::format("{} is ignored: the container is not privileged", kImex));
        channels.clear();
      }
    }
    for (const std::string& channel : channels) {
      const auto number = base::ParseUnsigned(channel);
      if (!number || *number > 0xffff'ffff || std::to_string(*number) != channel)
        return MakeError(ErrorCode::kInvalid, "{} is no number of an IMEX channel",
                         base::Quoted(channel));
    }
    request_.imex_channels = channels;
    return {};
  }

  base::Result<void> ReadMigVariables() {
    // CDI files say all that a container gets.
    if (request_.OnlyQualified() || config_.runtime_mode == "cdi") return {};
    TRY(is_config, ReadMigVariable("MIG_CONFIG_DEVICES"));
    TRY(is_monitor, ReadMigVariable("MIG_MONITOR_DEVICES"));
    request_.mig_config = is_config;
    request_.mig_monitor = is_monitor;
    return {};
  }

  base::Result<bool> ReadMigVariable(const std::string& name) {
    const std::string value(base::Trim(Env(("NVIDIA_" + name).c_str())));
    if (value.empty()) return false;
    if (base::ToLower(value) != "all")
      return MakeError(ErrorCode::kInvalid, "NVIDIA_{} is {}", name, base::Quoted(value))
          .WithHint("it can only be \"all\"");
    if (!spec_.privileged())
      return MakeError(ErrorCode::kDenied, "cannot set {} in non privileged container", name)
          .WithHint("it needs CAP_SYS_ADMIN");
    for (const std::string& id : request_.devices) {
      if (NamesMigDevice(id))
        return MakeError(ErrorCode::kInvalid, "cannot set {} for a container of MIG device {}",
                         name, base::Quoted(id))
            .WithHint("ask for GPUs, or leave the variable out");
    }
    return true;
  }

  static bool NamesMigDevice(const std::string& id) {
    const auto qualified = cdi::ParseName(id);
    const auto parsed = ParseDeviceId(qualified.ok() ? qualified->name : id);
    if (!parsed.ok()) return false;
    const auto* uuid = std::get_if<ByUuid>(&*parsed);
    return std::holds_alternative<Slice>(*parsed) || std::holds_alternative<ByInstance>(*parsed) ||
           (uuid != nullptr && base::ToLower(uuid->uuid).starts_with("mig-"));
  }

  void ReadCapabilities() {
    const base::Result<std::set<Capability>> supported = Supported();
    if (!supported.ok()) {
      request_.capability_error = supported.error();
      return;
    }
    const std::optional<std::string> value = spec_.Env(kCapabilities);
    std::vector<std::string> words = Items(value.value_or(""));
    if (words.empty()) words = {"utility", "compute"};
    const bool all = std::find(words.begin(), words.end(), "all") != words.end();
    if (all || (!value && is_legacy_image_)) {
      request_.capabilities = *supported;
      return;
    }
    const bool by_default = value.value_or("").empty();
    for (const std::string& word : words) {
      const std::optional<Capability> capability = cdi::ParseCapability(word);
      if (capability && supported->contains(*capability))
        request_.capabilities.insert(*capability);
      else if (!by_default)
        request_.capability_error = Unsupported(*value);
    }
  }

  [[nodiscard]] base::Result<std::set<Capability>> Supported() const {
    std::set<Capability> supported;
    for (const std::string& word : Items(config_.supported_capabilities)) {
      const std::optional<Capability> capability = cdi::ParseCapability(word);
      if (capability) {
        supported.insert(*capability);
      } else if (word == "all") {
        for (const char* each : kAllCapabilities) supported.insert(*cdi::ParseCapability(each));
      } else {
        return MakeError(ErrorCode::kInvalid, "supported-driver-capabilities has {}",
                         base::Quoted(word))
            .WithHint("it can be all, or some of " + AllCapabilities());
      }
    }
    return supported;
  }

  [[nodiscard]] base::Error Unsupported(const std::string& value) const {
    return MakeError(ErrorCode::kUnsupported, "unsupported capabilities found in {} {}",
                     kCapabilities, base::Quoted(value))
        .WithHint("supported-driver-capabilities allows " + config_.supported_capabilities);
  }

  static constexpr std::array kAllCapabilities = {"compat32", "compute", "display", "graphics",
                                                  "ngx",      "utility", "video"};
  static std::string AllCapabilities() {
    return base::Join(std::vector<std::string>(kAllCapabilities.begin(), kAllCapabilities.end()),
                      ", ");
  }

  void ReadRequirements() {
    if (config_.disable_require || IsTrue(Env("NVIDIA_DISABLE_REQUIRE"))) return;
    std::map<std::string, std::string> values;  // the last of a name counts
    for (const std::string& entry : spec_.env()) {
      const std::size_t equals = entry.find('=');
      if (equals == std::string::npos || !entry.starts_with("NVIDIA_REQUIRE_")) continue;
      if (entry.starts_with("NVIDIA_REQUIRE_JETPACK")) continue;
      values[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
    for (const auto& [name, value] : values) {
      if (!base::Trim(value).empty()) request_.requirements.push_back(value);
    }
    if (is_legacy_image_) request_.requirements.push_back("cuda>=" + LegacyCuda());
  }

  // "11.4" of "11.4.2", "v11.4".
  [[nodiscard]] std::string LegacyCuda() const {
    const std::string version = Env("CUDA_VERSION");
    const std::vector<std::string_view> parts =
        base::Split(version.starts_with('v') ? std::string_view(version).substr(1) : version, '.');
    std::string text(parts[0]);
    if (parts.size() > 1) text.append(".").append(parts[1]);
    return text;
  }

  const oci::Spec& spec_;
  const config::ToolkitConfig& config_;
  bool is_legacy_image_ = false;
  std::vector<std::string> mounted_, mounted_channels_;
  Request request_;
};

}  // namespace

bool Request::OnlyQualified() const {
  return kind == Kind::kDevices && std::all_of(devices.begin(), devices.end(), [](const auto& id) {
           return cdi::ParseName(id).ok();
         });
}

base::Result<Request> ReadRequest(const oci::Spec& spec,
                                  const config::ToolkitConfig& config,
                                  bool with_annotations) {
  return Reader(spec, config).Read(with_annotations);
}

}  // namespace partita::request
