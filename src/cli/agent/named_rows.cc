#include "cli/agent/named_rows.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "agent/control/control_client.h"
#include "base/files.h"
#include "config/document.h"

namespace partita::cli {
namespace {

using base::Value;
using config::KeyedSetting;
using config::OriginKind;

constexpr std::chrono::seconds kNamedPatience{2};
constexpr const char* kSelectedKey = "devicePlugin.selected";

std::string Word(const Value& map, std::string_view key) {
  const Value* word = map.Find(key);
  return word != nullptr && word->kind() == Value::Kind::kString ? word->AsString() : "";
}

KeyedSetting NamedRow(std::string key, std::string value, OriginKind kind, std::string where) {
  return {std::move(key), {std::move(value), {kind, std::move(where)}}};
}

// Of several lines the first: the others are the file's, with carets.
std::string FirstLineOf(const std::string& text) { return text.substr(0, text.find('\n')); }

std::vector<KeyedSetting> RowsOf(const Value& report) {
  std::vector<KeyedSetting> rows;
  if (const Value* label = report.Find("label")) {
    const bool known = label->Find("value") != nullptr && !label->Find("value")->IsNull();
    const std::string key = Word(*label, "key");
    rows.push_back(NamedRow("devicePlugin.label", Word(*label, "value"), OriginKind::kLabel,
                            known ? "label " + key : fmt::format("label {}: not told yet", key)));
  }
  const std::string by = Word(report, "by");
  rows.push_back(NamedRow(kSelectedKey, Word(report, "name"),
                          by == "label" ? OriginKind::kLabel : OriginKind::kDefault, by));
  if (const std::string rejected = Word(report, "rejected"); !rejected.empty())
    rows.push_back(NamedRow("devicePlugin.rejected", FirstLineOf(rejected), OriginKind::kDefault,
                            "the last good one is in force"));
  if (const Value* settings = report.Find("settings"))
    for (const Value& each : settings->items())
      rows.push_back(NamedRow(Word(each, "key"), Word(each, "value"),
                              Word(each, "where").starts_with(config::kConfigMapPlace)
                                  ? OriginKind::kConfigMap
                                  : OriginKind::kFile,
                              Word(each, "where")));
  return rows;
}

// What an agent would do that knows no label.
base::Result<std::vector<KeyedSetting>> Unlabelled(const config::AgentConfig& config) {
  const config::Selection selection = config::SelectionOf(config);
  base::Result<std::vector<std::string>> names = config::ConfigNames(selection.source);
  if (!names.ok() && selection.optional) names = std::vector<std::string>();
  if (!names.ok()) return std::move(names).error();
  TRY(choice, config::Choose(*names, selection));
  std::vector<KeyedSetting> rows = {NamedRow(kSelectedKey, choice.name, OriginKind::kDefault,
                                             std::string(config::ToString(choice.by)))};
  if (choice.name.empty()) return rows;
  const std::string place = config::NamedConfigPlace(config, choice.name);
  TRY(text, base::ReadRegularFile(place, config::Document::kMaxBytes));
  TRY(read, config::ReadNamedPluginConfig(config, std::move(text), place));
  for (KeyedSetting& each : config::NamedSettings(read)) rows.push_back(std::move(each));
  return rows;
}

}  // namespace

std::vector<KeyedSetting> NamedRows(const config::AgentConfig& config, const Value& report) {
  if (!config::HasNamedConfigs(config)) return {};
  if (!report.IsNull()) return RowsOf(report);
  std::vector<KeyedSetting> rows = {NamedRow(
      "devicePlugin.label", "", OriginKind::kLabel,
      fmt::format("label {}: not known, no agent answers", config.plugin_select_label.value))};
  if (!config.plugin_config_map.value.empty()) {
    rows.push_back(
        NamedRow(kSelectedKey, "", OriginKind::kConfigMap, "not known, no agent answers"));
    return rows;
  }
  base::Result<std::vector<KeyedSetting>> more = Unlabelled(config);
  if (!more.ok()) {
    rows.push_back(NamedRow("devicePlugin.rejected", FirstLineOf(more.error().ToString()),
                            OriginKind::kDefault, "nothing is offered"));
    return rows;
  }
  for (KeyedSetting& each : *more) rows.push_back(std::move(each));
  return rows;
}

AgentReport AskForNamed(const std::string& config_file) {
  base::Result<agent::control::Client> client =
      agent::control::Client::Connect(agent::control::SocketPath(), kNamedPatience);
  if (!client.ok()) return {};
  const base::Result<Value> report =
      client->Call("config.named", Value::Map(), {.patience = kNamedPatience});
  if (!report.ok() || Word(*report, "file") != config_file) return {};
  const Value* named = report->Find("named");
  return {Word(*report, "overlay"), named == nullptr ? Value() : *named};
}

}  // namespace partita::cli
