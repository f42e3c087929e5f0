// What a configuration that was read says: shown, with its origins, and of the files that it names.
#include <charconv>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "config/agent_config.h"
#include "config/agent_config_lists.h"
#include "config/document.h"
#include "config/hooks_file.h"
#include "config/mig_config.h"

namespace partita::config {
namespace {

Setting At(const Place& place, std::string value) {
  return {std::move(value),
          {OriginKind::kFile, fmt::format("{}:{}:{}", place.file, place.line, place.column)}};
}

// As one would write it on one line: texts bare, the rest as JSON.
std::string OnOneLine(const base::Value& value) {
  return value.kind() == base::Value::Kind::kString ? value.AsString() : base::ToJsonLine(value);
}

const base::Value* FindBelow(const base::Value& map, std::string_view path) {
  const std::size_t dot = path.find('.');
  const base::Value* below = map.Find(path.substr(0, dot));
  if (below == nullptr || dot == std::string_view::npos) return below;
  return FindBelow(*below, path.substr(dot + 1));
}

void AddRules(const AgentConfig& config, std::vector<KeyedSetting>& settings) {
  for (std::size_t i = 0; i < config.offer_rules.size(); ++i) {
    const OfferRule& rule = config.offer_rules[i];
    settings.push_back({fmt::format("offer.rules[{}]", i),
                        At(rule.place, base::ToJsonLine(OfferRuleDocument(rule)))});
  }
  if (config.offer_rules.empty()) settings.push_back({"offer.rules", {"[]", {}}});
}

void AddXids(const AgentConfig& config, std::vector<KeyedSetting>& settings) {
  for (const XidRule& rule : config.health_xids)
    settings.push_back({fmt::format("health.xids.{}", rule.xid),
                        At(rule.place, OnOneLine(XidRuleDocument(rule)))});
  if (config.health_xids.empty()) settings.push_back({"health.xids", {"{}", {}}});
}

void AddInline(const AgentConfig& config, std::vector<KeyedSetting>& settings) {
  if (!config.plugin_inline) return;
  for (KeyedSetting& each : NamedSettings(*config.plugin_inline))
    settings.push_back(std::move(each));
}

// As the file has it.
base::Value Written(const SettingRow& row, const std::string& text) {
  if (row.kind == SettingRow::Kind::kFlag) return {text == "true"};
  if (row.kind == SettingRow::Kind::kFactor) return {FactorOf(text)};
  if (row.kind != SettingRow::Kind::kWords) return {text};
  base::Value words = base::Value::List();
  if (text.empty()) return words;
  for (const std::string_view word : base::Split(text, ',')) words.Add(std::string(word));
  return words;
}

void SetIn(base::Value& document, const std::string& section, std::string key, base::Value value) {
  const base::Value* before = document.Find(section);
  base::Value map = before == nullptr ? base::Value::Map() : *before;
  map.Set(std::move(key), std::move(value));
  document.Set(section, std::move(map));
}

void SetTyped(const AgentConfig& config, base::Value& document) {
  base::Value rules = base::Value::List();
  for (const OfferRule& rule : config.offer_rules) rules.Add(OfferRuleDocument(rule));
  SetIn(document, "offer", "rules", std::move(rules));
  SetIn(document, "devicePlugin", "config",
        config.plugin_inline ? PluginConfigDocument(config.plugin_inline->config) : base::Value());
  base::Value xids = base::Value::Map();
  for (const XidRule& rule : config.health_xids)
    xids.Set(std::to_string(rule.xid), XidRuleDocument(rule));
  SetIn(document, "health", "xids", std::move(xids));
}

}  // namespace

std::vector<KeyedSetting> NamedSettings(const PluginConfigResult& read) {
  std::vector<KeyedSetting> settings;
  const base::Value document = PluginConfigDocument(read.config);
  for (const auto& [key, where] : read.given) {
    const base::Value* value = FindBelow(document, key);
    const OriginKind kind =
        where.starts_with(kConfigMapPlace) ? OriginKind::kConfigMap : OriginKind::kFile;
    settings.push_back(
        {"devicePlugin.config." + key, {value == nullptr ? "" : OnOneLine(*value), {kind, where}}});
  }
  return settings;
}

std::vector<KeyedSetting> AllSettings(const AgentConfig& config) {
  std::vector<KeyedSetting> settings;
  for (const SettingRow& row : SettingRows()) {
    settings.push_back({row.key, config.*row.member});
    // Behind the last word of their sections.
    if (row.key == "offer.default") AddRules(config, settings);
    if (row.key == "devicePlugin.offerMigParents") AddInline(config, settings);
    if (row.key == "health.autoReset") AddXids(config, settings);
  }
  return settings;
}

std::vector<std::string> ChangedKeys(const AgentConfig& before, const AgentConfig& after) {
  std::map<std::string, std::string, std::less<>> old;
  for (const KeyedSetting& each : AllSettings(before)) old.emplace(each.key, each.setting.value);
  std::vector<std::string> changed;
  for (const KeyedSetting& each : AllSettings(after)) {
    const auto found = old.find(each.key);
    if (found == old.end() || found->second != each.setting.value) changed.push_back(each.key);
    if (found != old.end()) old.erase(found);
  }
  for (const auto& [key, value] : old) changed.push_back(key);
  return changed;
}

double FactorOf(std::string_view text) {
  constexpr double kMost = 1000;
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  // Written so that NaN is none.
  return whole && factor > 0 && factor <= kMost ? factor : 0;
}

void AddOwnSettings(const AgentConfig& config, PluginConfig& plugin) {
  plugin.offer_mig_parents = config.plugin_offer_mig_parents.value == "true";
  plugin.mps_root = config.mps_root.value;
  const std::string& host = config.host_root.value;
  const std::string& dev = config.dev_root.value;
  plugin.driver_root = base::OnHost(config.driver_root.value, host);
  plugin.dev_root = dev.empty() ? "" : base::OnHost(dev, host);
  plugin.mps_memory_factor = FactorOf(config.mps_memory_factor.value);
  plugin.mps_thread_factor = FactorOf(config.mps_thread_factor.value);
}

base::Result<PluginConfigResult> ReadNamedPluginConfig(const AgentConfig& config,
                                                       std::string text,
                                                       std::string where) {
  TRY(parsed, ParsePluginConfig(std::move(text), std::move(where), PluginDefaults::kProduct,
                                config.plugin_strict.value == "true",
                                config.plugin_honour_resources.value == "true", {}));
  AddOwnSettings(config, parsed.config);
  parsed.config.list_unasked = !parsed.given.contains("flags.plugin.deviceListStrategy");
  return parsed;
}

base::Result<PluginConfigResult> LoadPluginConfig(const AgentConfig& config) {
  if (config.plugin_inline) {
    PluginConfigResult result = *config.plugin_inline;
    AddOwnSettings(config, result.config);
    result.config.list_unasked = !result.given.contains("flags.plugin.deviceListStrategy");
    return result;
  }
  const std::string& file = config.plugin_config_file.value;
  std::string text;
  if (!file.empty()) {
    base::Result<std::string> content = base::ReadRegularFile(file, Document::kMaxBytes);
    if (!content.ok())
      return base::Error(content.error()).WithHint("make the file, or take the key out");
    text = *std::move(content);
  }
  return ReadNamedPluginConfig(config, std::move(text), file);
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
  if (!config.plugin_config_file.value.empty()) {
    TRY(plugin, LoadPluginConfig(config), "{}",
        frame(config.plugin_config_file, "devicePlugin.configFile"));
    static_cast<void>(plugin);
  }
  return {};
}

base::Value AgentConfigDocument(const AgentConfig& config) {
  base::Value document = base::Value::Map().Set("version", kAgentConfigVersion);
  for (const SettingRow& row : SettingRows()) {
    const std::size_t dot = row.key.find('.');
    const std::string& text = (config.*row.member).value;
    const base::Value value = Written(row, text);
    if (dot == std::string::npos) {
      document.Set(row.key, value);
      continue;
    }
    SetIn(document, row.key.substr(0, dot), row.key.substr(dot + 1), value);
  }
  SetTyped(config, document);
  return document;
}

base::Value SettingsDocument(std::span<const KeyedSetting> settings) {
  base::Value list = base::Value::List();
  for (const auto& [key, setting] : settings) {
    list.Add(base::Value::Map()
                 .Set("key", key)
                 .Set("value", setting.value)
                 .Set("origin", ToString(setting.origin.kind))
                 .Set("where", setting.origin.where));
  }
  return base::Value::Map()
      .Set("apiVersion", "partita.dev/config/v1")
      .Set("kind", "AgentConfig")
      .Set("settings", std::move(list));
}

}  // namespace partita::config
