#include "config/agent_config.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/listen_address.h"
#include "base/text.h"
#include "config/binders.h"
#include "config/document.h"
#include "config/hooks_file.h"
#include "config/mig_config.h"
#include "config/problems.h"
#include "config/version.h"

namespace partita::config {
namespace {

using Kind = SettingRow::Kind;

constexpr std::string_view kVersion = "partita/v1";

// Keys of the whole document that this version does not have, and with what they come.
struct LaterRow {
  std::string key, comes_with;
};

const std::vector<LaterRow>& LaterRows() {
  static const std::vector<LaterRow> rows = {
      {"node.kubeletRoot", "the device plugin"},
      {"offer", "the device plugin"},
      {"gpuModes", "passthrough to virtual machines"},
      {"devicePlugin", "the device plugin"},
      {"mig.selectLabel", "the MIG manager for Kubernetes"},
      {"mig.owner", "dynamic resource allocation"},
      {"mig.drain", "the MIG manager for Kubernetes"},
      {"mig.waitIdle", "the MIG manager for Kubernetes"},
      {"mig.reboot", "the MIG manager for Kubernetes"},
      {"dra", "dynamic resource allocation"},
      {"cdi.disableHooks", "the container toolkit"},
      {"cdi.featureFlags", "the container toolkit"},
      {"cdi.restrictProc", "the container toolkit"},
      {"toolkit", "the container toolkit"},
      {"labels", "node labels"},
      {"taints", "node labels"},
      {"telemetry", "telemetry"},
      {"health", "health checks"},
      {"mps", "MPS"},
      {"vm", "virtual machines"},
      {"vgpu", "virtual machines"},
      {"tpu", "TPUs"},
      {"upgrade", "driver upgrades"},
      {"recommend", "recommendations"},
  };
  return rows;
}

// Why a value cannot be, with what to write instead; nothing when it can.
std::optional<base::Error> Wrong(const SettingRow& row, const std::string& value) {
  const auto invalid = [](std::string text) {
    return base::Error(base::ErrorCode::kInvalid, std::move(text));
  };
  switch (row.kind) {
    case Kind::kText: return std::nullopt;
    case Kind::kAbsentOrPath:
      if (value.empty()) return std::nullopt;
      [[fallthrough]];
    case Kind::kPath:
      if (value.starts_with("/")) return std::nullopt;
      return invalid(fmt::format("{} is no absolute path", base::Quoted(value)))
          .WithHint("it begins with /");
    case Kind::kListen: {
      base::Result<base::ListenAddress> address = base::ParseListenAddress(value);
      if (address.ok()) return std::nullopt;
      return std::move(address).error();
    }
    case Kind::kChoice:
    case Kind::kFlag: break;
  }
  if (std::find(row.choices.begin(), row.choices.end(), value) != row.choices.end())
    return std::nullopt;
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
  static bool IsSection(const std::string& key) {
    const auto rows = SettingRows();
    return std::any_of(rows.begin(), rows.end(),
                       [&](const SettingRow& row) { return row.key.starts_with(key + "."); });
  }

  void ReadSetting(const Node& node, const SettingRow& row) {
    const std::optional<std::string> value = ReadString(node, problems_);
    if (!value) return;
    if (const std::optional<base::Error> wrong = Wrong(row, *value))
      return problems_.Add(node, wrong->message(), wrong->hint());
    config_.*row.member = {*value,
                           {OriginKind::kFile, fmt::format("{}:{}:{}", document_.file_name(),
                                                           node.line, node.column)}};
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
    for (const SettingRow& row : SettingRows()) {
      const auto rest = base::WithoutPrefix(row.key, prefix);
      if (!rest) continue;
      std::string word(rest->substr(0, rest->find('.')));
      if (std::find(known.begin(), known.end(), word) == known.end())
        known.push_back(std::move(word));
    }
    return known;
  }

  const Document& document_;
  Problems& problems_;
  AgentConfig& config_;
};

base::Result<void> Apply(std::span<const Override> overrides, AgentConfig& config) {
  for (const Override& each : overrides) {
    const SettingRow* row = FindRow(each.key);
    PARTITA_CHECK(row != nullptr);
    if (std::optional<base::Error> wrong = Wrong(*row, each.value))
      return (*std::move(wrong)).Within(each.origin.where);
    config.*row->member = {each.value, each.origin};
  }
  return {};
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
    case OriginKind::kEnvironment: return "environment";
    case OriginKind::kFlag: return "flag";
  }
  return "";
}

std::span<const SettingRow> SettingRows() {
  static const std::vector<SettingRow> rows = {
      {"node.name", &AgentConfig::node_name, "", Kind::kText},
      {"node.hostRoot", &AgentConfig::host_root, "/", Kind::kPath},
      {"node.driverRoot", &AgentConfig::driver_root, "/", Kind::kPath},
      {"node.devRoot", &AgentConfig::dev_root, "", Kind::kAbsentOrPath},
      {"node.replaceWhenStuck",
       &AgentConfig::replace_when_stuck,
       "true",
       Kind::kFlag,
       {"true", "false"}},
      {"mig.configFile", &AgentConfig::mig_config_file, "/etc/partita/mig.yaml", Kind::kPath},
      {"mig.default", &AgentConfig::mig_default, "", Kind::kText},
      {"mig.restoreAtBoot",
       &AgentConfig::mig_restore_at_boot,
       "applied",
       Kind::kChoice,
       {"applied", "off"}},
      {"mig.hooksFile", &AgentConfig::mig_hooks_file, "", Kind::kAbsentOrPath},
      {"mig.gpuClientsFile", &AgentConfig::mig_gpu_clients_file, "", Kind::kAbsentOrPath},
      {"cdi.versionMax",
       &AgentConfig::cdi_version_max,
       "",
       Kind::kChoice,
       // Devices are called by their index, which CDI allows since 0.5.0.
       {"", "0.5.0", "0.6.0", "0.7.0"}},
      {"cdi.management", &AgentConfig::cdi_management, "false", Kind::kFlag, {"true", "false"}},
      {"listen", &AgentConfig::listen, ":9400", Kind::kListen},
      {"log.format", &AgentConfig::log_format, "text", Kind::kChoice, {"text", "json"}},
      {"log.level",
       &AgentConfig::log_level,
       "info",
       Kind::kChoice,
       {"debug", "info", "warn", "error"}},
  };
  return rows;
}

base::Result<AgentConfig> DefaultAgentConfig(std::span<const Override> overrides) {
  AgentConfig config = Defaults();
  TRY_VOID(Apply(overrides, config));
  return config;
}

base::Result<AgentConfig> ParseAgentConfig(std::string text,
                                           std::string file_name,
                                           std::span<const Override> overrides) {
  TRY(document, Document::Parse(std::move(text), std::move(file_name)));
  AgentConfig config = Defaults();
  if (!document.root().IsNull()) {
    Problems problems(document);
    if (ExpectMap(document.root(), problems, "the agent's configuration")) {
      RequireVersion(document.root(), kVersion, problems);
      Binder(document, problems, config).ReadMap(document.root(), "");
    }
    TRY_VOID(problems.ToResult());
  }
  TRY_VOID(Apply(overrides, config));
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

base::Result<void> CheckNamedFiles(const AgentConfig& config) {
  const auto frame = [](const Setting& setting, std::string_view key) {
    return setting.origin.where.empty() ? std::string(key)
                                        : fmt::format("{}: {}", setting.origin.where, key);
  };
  if (!config.mig_default.value.empty()) {
    TRY(file, MigConfigFile::Load(config.mig_config_file.value), "{}",
        frame(config.mig_config_file, "mig.configFile"));
    TRY(selected, file.Select(config.mig_default.value), "{}",
        frame(config.mig_default, "mig.default"));
    static_cast<void>(selected);
  }
  if (!config.mig_hooks_file.value.empty()) {
    TRY(hooks, HooksFile::Load(config.mig_hooks_file.value), "{}",
        frame(config.mig_hooks_file, "mig.hooksFile"));
    static_cast<void>(hooks);
  }
  return {};
}

base::Value AgentConfigDocument(const AgentConfig& config) {
  base::Value document = base::Value::Map().Set("version", kVersion);
  for (const SettingRow& row : SettingRows()) {
    const std::size_t dot = row.key.find('.');
    const std::string& text = (config.*row.member).value;
    const base::Value value =
        row.kind == Kind::kFlag ? base::Value(text == "true") : base::Value(text);
    if (dot == std::string::npos) {
      document.Set(row.key, value);
      continue;
    }
    const std::string section = row.key.substr(0, dot);
    const base::Value* before = document.Find(section);
    base::Value map = before == nullptr ? base::Value::Map() : *before;
    map.Set(row.key.substr(dot + 1), value);
    document.Set(section, std::move(map));
  }
  return document;
}

base::Value AgentConfigOrigins(const AgentConfig& config) {
  base::Value settings = base::Value::List();
  for (const SettingRow& row : SettingRows()) {
    const Setting& setting = config.*row.member;
    settings.Add(base::Value::Map()
                     .Set("key", row.key)
                     .Set("value", setting.value)
                     .Set("origin", ToString(setting.origin.kind))
                     .Set("where", setting.origin.where));
  }
  return base::Value::Map()
      .Set("apiVersion", "partita.dev/config/v1")
      .Set("kind", "AgentConfig")
      .Set("settings", std::move(settings));
}

}  // namespace partita::config
