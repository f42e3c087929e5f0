#include "config/agent_config.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/listen_address.h"
#include "base/text.h"
#include "config/agent_config_lists.h"
#include "config/binders.h"
#include "config/document.h"
#include "config/duration.h"
#include "config/named/overlay.h"
#include "config/plugin_config_reader.h"
#include "config/problems.h"
#include "config/resource_name.h"
#include "config/version.h"

namespace partita::config {
namespace {

using SettingKind = SettingRow::Kind;

SettingRow Flag(std::string key, Setting AgentConfig::*member, std::string fallback) {
  return {std::move(key), member, std::move(fallback), SettingKind::kFlag, {"true", "false"}};
}

// The first is what it is without the key.
SettingRow OneOf(std::string key, Setting AgentConfig::*member, std::vector<std::string> choices) {
  std::string fallback = choices.front();
  return {std::move(key), member, std::move(fallback), SettingKind::kChoice, std::move(choices)};
}

// Keys of the whole document that this version does not have, and with what they come.
struct LaterRow {
  std::string key, comes_with;
};

const std::vector<LaterRow>& LaterRows() {
  static const std::vector<LaterRow> rows = {
      {"gpuModes", "passthrough to virtual machines"},
      {"mig.selectLabel", "the MIG manager for Kubernetes"},
      {"mig.owner", "dynamic resource allocation"},
      {"mig.drain", "the MIG manager for Kubernetes"},
      {"mig.waitIdle", "the MIG manager for Kubernetes"},
      {"mig.reboot", "the MIG manager for Kubernetes"},
      {"dra", "dynamic resource allocation"},
      {"cdi.disableHooks", "the container toolkit"},
      {"cdi.featureFlags", "the container toolkit"},
      {"cdi.restrictProc", "the container toolkit"},
      {"labels.prefixes", "GPUs of other makers"},
      {"labels.nfdFacts", "driver upgrades"},
      {"taints.tolerationPolicy", "the chart, as a value of the same name"},
      {"telemetry", "telemetry"},
      {"health.probe", "self-tests"},
      {"health.conditionAliases", "node conditions"},
      {"vm", "virtual machines"},
      {"vgpu", "virtual machines"},
      {"tpu", "TPUs"},
      {"upgrade", "driver upgrades"},
      {"recommend", "recommendations"},
  };
  return rows;
}

// Values that this version does not have, likewise.
struct LaterValue {
  std::string key, value, comes_with;
};

const std::vector<LaterValue>& LaterValues() {
  static const std::vector<LaterValue> values = {
      {"offer.default", "dra", "dynamic resource allocation"},
      {"offer.default", "vm", "virtual machines"},
      {"health.autoReset", "idle", "resets of GPUs"},
  };
  return values;
}

// Keys whose values are no single words.
const std::array<std::string, 3> kTypedKeys = {"offer.rules", "devicePlugin.config", "health.xids"};

// Less would be a load on an API server with thousands of nodes.
constexpr std::chrono::minutes kShortestPeriod{1};

std::optional<base::Error> WrongPeriod(const std::string& value) {
  const std::optional<std::chrono::nanoseconds> period = ParseDuration(value);
  if (period && *period >= kShortestPeriod) return std::nullopt;
  return base::Error(base::ErrorCode::kInvalid,
                     fmt::format("{} is no time of a minute or more", base::Quoted(value)))
      .WithHint("write 1h, 30m or 90s");
}

bool IsLabelName(std::string_view text) {
  constexpr std::size_t kMost = 63;
  const auto is_end = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !text.empty() && text.size() <= kMost && is_end(text.front()) && is_end(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_end(c) || c == '-' || c == '_' || c == '.'; });
}

// As the API server judges labels and taints, with a domain: one without is somebody's own.
bool IsLabelKey(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && IsDnsSubdomain(text.substr(0, slash)) &&
         IsLabelName(text.substr(slash + 1));
}

std::optional<base::Error> WrongTaintKey(const std::string& value) {
  if (IsLabelKey(value) || IsLabelName(value)) return std::nullopt;
  return base::Error(base::ErrorCode::kInvalid,
                     fmt::format("{} is no key of a taint", base::Quoted(value)))
      .WithHint(
          "letters, digits, '-', '_' and '.', with a domain and a slash before: nvidia.com/gpu");
}

bool IsObjectName(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && IsDnsSubdomain(text.substr(0, slash)) &&
         IsDnsSubdomain(text.substr(slash + 1));
}

// Why a value cannot be, with what to write instead; nothing when it can.
std::optional<base::Error> Wrong(const SettingRow& row, const std::string& value) {
  const auto invalid = [](std::string text) {
    return base::Error(base::ErrorCode::kInvalid, std::move(text));
  };
  switch (row.kind) {
    case SettingKind::kText: return std::nullopt;
    case SettingKind::kAbsentOrPath:
      if (value.empty()) return std::nullopt;
      [[fallthrough]];
    case SettingKind::kPath:
      if (value.starts_with("/")) return std::nullopt;
      return invalid(fmt::format("{} is no absolute path", base::Quoted(value)))
          .WithHint("it begins with /");
    case SettingKind::kLabelKey:
      if (IsLabelKey(value)) return std::nullopt;
      return invalid(fmt::format("{} is no key of a label", base::Quoted(value)))
          .WithHint(
              "a DNS name, / and up to 63 letters, digits, -, _ and .: nvidia.com/gpu.config");
    case SettingKind::kAbsentOrObject:
      if (value.empty() || IsObjectName(value)) return std::nullopt;
      return invalid(fmt::format("{} is no namespace and name", base::Quoted(value)))
          .WithHint("write NAMESPACE/NAME");
    case SettingKind::kListen: {
      base::Result<base::ListenAddress> address = base::ParseListenAddress(value);
      if (address.ok()) return std::nullopt;
      return std::move(address).error();
    }
    case SettingKind::kPeriod: return WrongPeriod(value);
    case SettingKind::kTaintKey: return WrongTaintKey(value);
    case SettingKind::kTaintValue:
      if (value.empty() || IsLabelName(value)) return std::nullopt;
      return invalid(fmt::format("{} is no value of a taint", base::Quoted(value)))
          .WithHint("letters, digits, '-', '_' and '.', at most 63");
    case SettingKind::kFactor:
      if (FactorOf(value) > 0) return std::nullopt;
      return invalid(fmt::format("{} is no number above 0", base::Quoted(value)))
          .WithHint("1 is an equal part, 1.5 half as much again; 1000 at most");
    case SettingKind::kChoice:
    case SettingKind::kWords:  // each of them
    case SettingKind::kFlag: break;
  }
  if (std::find(row.choices.begin(), row.choices.end(), value) != row.choices.end())
    return std::nullopt;
  for (const LaterValue& later : LaterValues()) {
    if (later.key == row.key && later.value == value)
      return invalid(fmt::format("\"{}\" comes with {}", value, later.comes_with))
          .WithHint(fmt::format("until then write {}", base::JoinWithOr(row.choices)));
  }
  const std::string near = base::DidYouMean(value, row.choices);
  std::vector<std::string> named = row.choices;
  // Empty is what a key is that nobody writes.
  std::erase(named, "");
  base::Error error =
      invalid(fmt::format("expected {}, not {}", base::JoinWithOr(named), base::Quoted(value)));
  if (near.empty()) return error;
  return std::move(error).WithHint(fmt::format("did you mean \"{}\"?", near));
}

const SettingRow* FindRow(std::string_view key) {
  for (const SettingRow& row : SettingRows())
    if (row.key == key) return &row;
  return nullptr;
}

// Reads the maps of one document into settings.
class Binder {
 public:
  Binder(const Document& document, Problems& problems, AgentConfig& config)
      : document_(document), problems_(problems), config_(config) {}

  void ReadMap(const Node& map, const std::string& prefix) {
    for (const Node::Entry& entry : map.entries) {
      const std::string key = prefix + entry.key.text;
      if (const SettingRow* row = FindRow(key)) {
        ReadSetting(entry.value, *row);
      } else if (IsTyped(key)) {
        ReadTyped(key, entry.value);
      } else if (IsSection(key)) {
        // An empty section says nothing.
        if (!entry.value.IsNull() &&
            ExpectMap(entry.value, problems_, fmt::format("the settings of \"{}\"", key)))
          ReadMap(entry.value, key + ".");
      } else if (key != "version") {
        Refuse(entry.key, key, prefix);
      }
    }
  }

 private:
  static bool IsTyped(const std::string& key) {
    return std::find(kTypedKeys.begin(), kTypedKeys.end(), key) != kTypedKeys.end();
  }

  void ReadTyped(const std::string& key, const Node& node) {
    if (key == "offer.rules")
      config_.offer_rules = ReadOfferRules(node, document_.file_name(), problems_);
    if (key == "health.xids")
      config_.health_xids = ReadXidRules(node, document_.file_name(), problems_);
    // devicePlugin.config is read last: other keys say how strictly.
  }

  static bool IsSection(const std::string& key) {
    const auto rows = SettingRows();
    return std::any_of(rows.begin(), rows.end(),
                       [&](const SettingRow& row) { return row.key.starts_with(key + "."); });
  }

  void ReadSetting(const Node& node, const SettingRow& row) {
    std::optional<std::string> value;
    if (row.kind == SettingKind::kWords)
      value = ReadWords(node, row);
    else if ((value = ReadString(node, problems_)))
      if (const std::optional<base::Error> wrong = Wrong(row, *value))
        return problems_.Add(node, wrong->message(), wrong->hint());
    if (!value) return;
    config_.*row.member = {*value,
                           {OriginKind::kFile, fmt::format("{}:{}:{}", document_.file_name(),
                                                           node.line, node.column)}};
  }

  std::optional<std::string> ReadWords(const Node& node, const SettingRow& row) {
    if (!ExpectList(node, problems_, fmt::format("a list of {}", base::JoinWithOr(row.choices))))
      return std::nullopt;
    std::vector<std::string> words;
    for (const Node& item : node.items) {
      const std::optional<std::size_t> word = ReadChoice(item, problems_, row.choices);
      if (!word) return std::nullopt;
      words.push_back(row.choices[*word]);
    }
    return base::Join(words, ",");
  }

  void Refuse(const Node& node, const std::string& key, const std::string& prefix) {
    for (const LaterRow& later : LaterRows()) {
      if (later.key != key) continue;
      return problems_.Add(node, fmt::format("\"{}\" comes with {}", key, later.comes_with),
                           "take it out: this version would do nothing with it");
    }
    const std::string near = base::DidYouMean(node.text, Known(prefix));
    problems_.Add(node, fmt::format("unknown key {}", base::Quoted(node.text)),
                  near.empty() ? "known here: " + base::Join(Known(prefix), ", ")
                               : fmt::format("did you mean \"{}\"?", near));
  }

  static std::vector<std::string> Known(const std::string& prefix) {
    std::vector<std::string> known;
    if (prefix.empty()) known.emplace_back("version");
    const auto add = [&](const std::string& key) {
      const auto rest = base::WithoutPrefix(key, prefix);
      if (!rest) return;
      std::string word(rest->substr(0, rest->find('.')));
      if (std::find(known.begin(), known.end(), word) == known.end())
        known.push_back(std::move(word));
    };
    for (const SettingRow& row : SettingRows()) add(row.key);
    for (const std::string& key : kTypedKeys) add(key);
    return known;
  }

  const Document& document_;
  Problems& problems_;
  AgentConfig& config_;
};

base::Result<void> ApplyOverrides(std::span<const Override> overrides, AgentConfig& config) {
  for (const Override& each : overrides) {
    const SettingRow* row = FindRow(each.key);
    PARTITA_CHECK(row != nullptr);
    if (std::optional<base::Error> wrong = Wrong(*row, each.value))
      return (*std::move(wrong)).Within(each.origin.where);
    config.*row->member = {each.value, each.origin};
  }
  return {};
}

// Exactly one place says what the device plugin does; the folder is that where none is written.
void RefuseSecondSource(const Document& document, Problems& problems, AgentConfig& config) {
  const Node* section = document.root().Find("devicePlugin");
  if (section == nullptr) return;
  std::vector<const Node*> there;
  for (const char* key : {"configFile", "configDir", "configMap", "config"}) {
    const Node* value = section->Find(key);
    if (value == nullptr || value->IsNull() || (value->IsScalar() && value->text.empty())) continue;
    there.push_back(section->FindKey(key));
  }
  if (there.empty()) return;
  // Also those of a document below this one. What it says itself is read next.
  for (Setting* source :
       {&config.plugin_config_file, &config.plugin_config_dir, &config.plugin_config_map})
    *source = {"", {OriginKind::kDefault, ""}};
  config.plugin_inline.reset();
  if (there.size() < 2) return;
  const std::string what =
      fmt::format("\"{}\" and \"{}\" are both there", there[0]->text, there[1]->text);
  for (const Node* key : there) problems.Add(*key, what, "keep one of them");
}

// The document within: with what the settings around it say.
void ReadInline(const Document& document,
                std::span<const Override> overrides,
                Problems& problems,
                AgentConfig& config) {
  const Node* section = document.root().Find("devicePlugin");
  const Node* node = section == nullptr ? nullptr : section->Find("config");
  if (node == nullptr || node->IsNull()) return;
  AgentConfig in_force = config;
  if (!ApplyOverrides(overrides, in_force).ok()) return;  // told once the file has been
  Problems warnings(document);
  PluginReading reading{document, problems, warnings, in_force.plugin_strict.value == "true",
                        in_force.plugin_honour_resources.value == "true"};
  reading.for_agent = true;
  reading.within = true;
  PluginConfigResult result{DefaultPluginConfig(PluginDefaults::kProduct)};
  ReadPluginDocument(*node, reading, result.config);
  WarnOfNoEffect(*node, reading);
  WarnOfForeignRoots(*node, reading);
  result.warnings = warnings.RenderEach();
  result.given = std::move(reading.given);
  config.plugin_inline = std::move(result);
}

// What a document says is so from now on; the rest stays as it is.
base::Result<void> ReadInto(std::string text,
                            std::string file_name,
                            std::span<const Override> overrides,
                            AgentConfig& config) {
  TRY(document, Document::Parse(std::move(text), std::move(file_name)));
  if (document.root().IsNull()) return {};
  Problems problems(document);
  if (ExpectMap(document.root(), problems, "the agent's configuration")) {
    RequireVersion(document.root(), kAgentConfigVersion, problems);
    RefuseSecondSource(document, problems, config);
    Binder(document, problems, config).ReadMap(document.root(), "");
    ReadInline(document, overrides, problems, config);
  }
  return problems.ToResult();
}

AgentConfig Defaults() {
  AgentConfig config;
  for (const SettingRow& row : SettingRows())
    config.*row.member = {row.fallback, {OriginKind::kDefault, ""}};
  return config;
}

}  // namespace

std::string_view ToString(OriginKind kind) {
  switch (kind) {
    case OriginKind::kDefault: return "default";
    case OriginKind::kFile: return "file";
    case OriginKind::kConfigMap: return "configmap";
    case OriginKind::kLabel: return "label";
    case OriginKind::kEnvironment: return "environment";
    case OriginKind::kFlag: return "flag";
  }
  return "";
}

std::span<const SettingRow> SettingRows() {
  static const std::vector<SettingRow> rows = {
      {"node.name", &AgentConfig::node_name, "", SettingKind::kText},
      {"node.kubeconfig", &AgentConfig::kubeconfig, "", SettingKind::kAbsentOrPath},
      {"node.hostRoot", &AgentConfig::host_root, "/", SettingKind::kPath},
      {"node.driverRoot", &AgentConfig::driver_root, "/", SettingKind::kPath},
      {"node.devRoot", &AgentConfig::dev_root, "", SettingKind::kAbsentOrPath},
      Flag("node.replaceWhenStuck", &AgentConfig::replace_when_stuck, "true"),
      {"node.kubeletRoot", &AgentConfig::kubelet_root, "/var/lib/kubelet", SettingKind::kPath},
      {"node.criSocket", &AgentConfig::cri_socket, "", SettingKind::kAbsentOrPath},
      OneOf("offer.default", &AgentConfig::offer_default, {"device-plugin", "none"}),
      Flag("devicePlugin.enabled", &AgentConfig::plugin_enabled, "true"),
      {"devicePlugin.configFile", &AgentConfig::plugin_config_file, "", SettingKind::kAbsentOrPath},
      {"devicePlugin.configDir", &AgentConfig::plugin_config_dir, std::string(kPluginConfigDir),
       SettingKind::kAbsentOrPath},
      {"devicePlugin.configMap", &AgentConfig::plugin_config_map, "", SettingKind::kAbsentOrObject},
      {"devicePlugin.selectLabel", &AgentConfig::plugin_select_label,
       "nvidia.com/device-plugin.config", SettingKind::kLabelKey},
      {"devicePlugin.default", &AgentConfig::plugin_default, "", SettingKind::kText},
      {"devicePlugin.fallback", &AgentConfig::plugin_fallback, "named,single", SettingKind::kWords,
       FallbackNames()},
      Flag("devicePlugin.strict", &AgentConfig::plugin_strict, "false"),
      Flag("devicePlugin.honourResources", &AgentConfig::plugin_honour_resources, "false"),
      Flag("devicePlugin.offerMigParents", &AgentConfig::plugin_offer_mig_parents, "false"),
      {"mig.configFile", &AgentConfig::mig_config_file, "/etc/partita/mig.yaml",
       SettingKind::kPath},
      {"mig.default", &AgentConfig::mig_default, "", SettingKind::kText},
      OneOf("mig.restoreAtBoot", &AgentConfig::mig_restore_at_boot, {"applied", "off"}),
      {"mig.hooksFile", &AgentConfig::mig_hooks_file, "", SettingKind::kAbsentOrPath},
      {"mig.gpuClientsFile", &AgentConfig::mig_gpu_clients_file, "", SettingKind::kAbsentOrPath},
      {"mps.root", &AgentConfig::mps_root, "/run/nvidia/mps", SettingKind::kPath},
      OneOf("mps.runner", &AgentConfig::mps_runner, {"auto", "systemd", "pod", "child", "off"}),
      OneOf("mps.computeMode", &AgentConfig::mps_compute_mode, {"exclusive", "unchanged"}),
      {"mps.memoryFactor", &AgentConfig::mps_memory_factor, "1", SettingKind::kFactor},
      {"mps.threadFactor", &AgentConfig::mps_thread_factor, "1", SettingKind::kFactor},
      {"cdi.versionMax",
       &AgentConfig::cdi_version_max,
       "",
       SettingKind::kChoice,
       // Devices are called by their index, which CDI allows since 0.5.0.
       {"", "0.5.0", "0.6.0", "0.7.0"}},
      Flag("cdi.management", &AgentConfig::cdi_management, "false"),
      OneOf("health.preset", &AgentConfig::health_preset, {"catalogue", "reference", "gke"}),
      OneOf("health.autoReset", &AgentConfig::health_auto_reset, {"off"}),
      {"toolkit.installDir", &AgentConfig::toolkit_install_dir, "", SettingKind::kAbsentOrPath},
      OneOf("labels.backend", &AgentConfig::labels_backend,
            {"node", "nodefeature", "file", "none"}),
      {"labels.file", &AgentConfig::labels_file,
       "/etc/kubernetes/node-feature-discovery/features.d/gfd", SettingKind::kPath},
      Flag("labels.perModel", &AgentConfig::labels_per_model, "true"),
      {"labels.resync", &AgentConfig::labels_resync, "1h", SettingKind::kPeriod},
      Flag("taints.enabled", &AgentConfig::taints_enabled, "false"),
      {"taints.key", &AgentConfig::taints_key, "nvidia.com/gpu", SettingKind::kTaintKey},
      {"taints.value", &AgentConfig::taints_value, "present", SettingKind::kTaintValue},
      {"listen", &AgentConfig::listen, ":9400", SettingKind::kListen},
      OneOf("log.format", &AgentConfig::log_format, {"text", "json"}),
      {"log.level",
       &AgentConfig::log_level,
       "info",
       SettingKind::kChoice,
       {"debug", "info", "warn", "error"}},
  };
  return rows;
}

base::Result<AgentConfig> DefaultAgentConfig(std::span<const Override> overrides) {
  AgentConfig config = Defaults();
  TRY_VOID(ApplyOverrides(overrides, config));
  return config;
}

base::Result<AgentConfig> ParseAgentConfig(std::string text,
                                           std::string file_name,
                                           std::span<const Override> overrides) {
  return ParseAgentConfigOver(std::move(text), std::move(file_name), std::nullopt, overrides);
}

base::Result<AgentConfig> ParseAgentConfigOver(std::string text,
                                               std::string file_name,
                                               const std::optional<Overlay>& overlay,
                                               std::span<const Override> overrides) {
  AgentConfig config = Defaults();
  TRY_VOID(ReadInto(std::move(text), std::move(file_name), overrides, config));
  if (overlay) TRY_VOID(ReadInto(overlay->text, overlay->file_name, overrides, config));
  TRY_VOID(ApplyOverrides(overrides, config));
  return config;
}

base::Result<std::string> ReadAgentConfigText(const AgentConfigSource& source) {
  base::Result<std::string> text = base::ReadFile(source.path, Document::kMaxBytes);
  const bool absent = !text.ok() && text.error().code() == base::ErrorCode::kNotFound;
  if (absent && !source.required) return std::string();
  if (absent)
    return base::Error(text.error())
        .WithHint(
            "name the file that is meant with -f; without it /etc/partita/config.yaml counts");
  return text;
}

base::Result<AgentConfig> LoadAgentConfig(const AgentConfigSource& source) {
  TRY(text, ReadAgentConfigText(source));
  return ParseAgentConfig(std::move(text), source.path, source.overrides);
}

}  // namespace partita::config
