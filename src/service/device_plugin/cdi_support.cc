#include "service/device_plugin/cdi_support.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "net/rpc/wire.h"

namespace partita::service::device_plugin {
namespace {

using net::rpc::WireField;
using net::rpc::WireReader;
using Release = std::pair<std::uint64_t, std::uint64_t>;  // 1.29

constexpr Release kKubeletHasCdi{1, 29};
constexpr Release kContainerdHasCdi{1, 7};
constexpr Release kContainerdHasCdiOn{2, 0};
constexpr Release kCrioHasCdi{1, 27};
constexpr std::string_view kOrAnotherWay = "or choose another flags.plugin.deviceListStrategy";

// What packagers and builders put behind the numbers is theirs.
std::optional<Release> ReleaseOf(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  const std::size_t dot = version.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::size_t end = version.find_first_not_of("0123456789", dot + 1);
  const auto major = base::ParseUnsigned(version.substr(0, dot));
  const auto minor = base::ParseUnsigned(version.substr(dot + 1, end - dot - 1));
  if (!major || !minor) return std::nullopt;
  return Release{*major, *minor};
}

std::string OfEngine(const SeenEngine& engine) {
  const std::optional<Release> release = ReleaseOf(engine.version);
  if (!release) return "";
  if (engine.name == "cri-o" && *release < kCrioHasCdi)
    return fmt::format("CRI-O {} takes no CDI devices from kubelet: install CRI-O 1.27 or newer",
                       engine.version);
  if (engine.name != "containerd") return "";
  if (*release < kContainerdHasCdi)
    return fmt::format("containerd {} has no CDI: install containerd 1.7 or newer", engine.version);
  // Off unless somebody switched it on: that it was must be seen.
  if (*release < kContainerdHasCdiOn && engine.cdi != true)
    return fmt::format(
        "containerd {} has CDI switched off: on the node run `partita runtime configure --runtime "
        "containerd --enable-cdi` and restart containerd",
        engine.version);
  return "";
}

base::Result<std::optional<bool>> ReadConfiguration(std::string_view json) {
  TRY(config, base::ParseJson(json), "the engine's configuration");
  if (config.kind() != base::Value::Kind::kMap) return std::optional<bool>();
  const base::Value* cdi = config.Find("enableCDI");
  if (cdi == nullptr || cdi->kind() != base::Value::Kind::kBool) return std::optional<bool>();
  return std::optional<bool>(cdi->AsBool());
}

// Of map<string, string>, the value of `wanted`.
base::Result<std::optional<std::string_view>> ValueOf(std::string_view entry,
                                                      std::string_view wanted) {
  std::string_view key, value;
  WireReader reader(entry);
  while (true) {
    TRY(field, reader.Next());
    if (!field) break;
    if (field->kind != WireField::Kind::kBytes) continue;
    if (field->number == 1) key = field->bytes;
    if (field->number == 2) value = field->bytes;
  }
  if (key != wanted) return std::optional<std::string_view>();
  return std::optional<std::string_view>(value);
}

}  // namespace

std::string CdiDisabled(const std::optional<SeenEngine>& engine,
                        const std::optional<std::string>& kubelet) {
  std::string why;
  const std::optional<Release> release = kubelet ? ReleaseOf(*kubelet) : std::nullopt;
  if (release && *release < kKubeletHasCdi)
    why = fmt::format("kubelet {} hands no CDI devices to engines: install kubelet 1.29 or newer",
                      *kubelet);
  else if (engine)
    why = OfEngine(*engine);
  return why.empty() ? "" : fmt::format("CdiDisabled: {}, {}", why, kOrAnotherWay);
}

std::string EngineStatusMessage() { return net::rpc::WireWriter().Flag(1, true).Take(); }

base::Result<SeenEngine> ReadEngineVersion(std::string_view message) {
  SeenEngine engine;
  WireReader reader(message);
  while (true) {
    TRY(field, reader.Next());
    if (!field) return engine;
    if (field->kind != WireField::Kind::kBytes) continue;
    if (field->number == 2) engine.name = field->bytes;
    if (field->number == 3) engine.version = field->bytes;
  }
}

base::Result<std::optional<bool>> ReadEngineCdi(std::string_view message) {
  WireReader reader(message);
  while (true) {
    TRY(field, reader.Next());
    if (!field) return std::optional<bool>();
    if (field->number != 2 || field->kind != WireField::Kind::kBytes) continue;
    TRY(config, ValueOf(field->bytes, "config"));
    if (config) return ReadConfiguration(*config);
  }
}

}  // namespace partita::service::device_plugin
