#include "agent/config/named_configs.h"

#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/json.h"
#include "base/state_file.h"
#include "base/text.h"
#include "config/document.h"
#include "kube/config_map.h"

namespace partita::agent {
namespace {

using base::LogKey;
using base::Value;

base::StateFile KeptFile(const std::string& path) {
  return {.path = path, .name = "named-config", .version = 1};
}

std::string TextAt(const Value& map, std::string_view key) {
  const Value* text = map.Find(key);
  return text != nullptr && text->kind() == Value::Kind::kString ? text->AsString() : "";
}

// The value of a label; empty where it is not set, as the reference has it.
std::string LabelOf(const Value& node, const std::string& key) {
  const Value* metadata = node.Find("metadata");
  const Value* labels = metadata == nullptr ? nullptr : metadata->Find("labels");
  return labels == nullptr ? "" : TextAt(*labels, key);
}

Value KeptDocument(const NamedConfig& config) {
  return Value::Map()
      .Set("source", config.source)
      .Set("label", config.label)
      .Set("name", config.choice.name)
      .Set("by", std::string(config::ToString(config.choice.by)))
      .Set("where", config.where)
      .Set("text", config.text);
}

std::optional<NamedConfig> FromKept(const std::string& text) {
  const base::Result<Value> document = base::ParseJson(text);
  if (!document.ok()) return std::nullopt;
  NamedConfig kept;
  kept.source = TextAt(*document, "source");
  kept.label = TextAt(*document, "label");
  kept.choice.name = TextAt(*document, "name");
  kept.where = TextAt(*document, "where");
  kept.text = TextAt(*document, "text");
  const std::string by = TextAt(*document, "by");
  for (const config::ChosenBy each :
       {config::ChosenBy::kLabel, config::ChosenBy::kDefault, config::ChosenBy::kNamed,
        config::ChosenBy::kSingle, config::ChosenBy::kEmpty, config::ChosenBy::kNobody}) {
    if (config::ToString(each) != by) continue;
    kept.choice.by = each;
    return kept;
  }
  return std::nullopt;
}

base::Error NotTold(const std::string& what, const std::string& problem) {
  return base::MakeError(base::ErrorCode::kUnavailable,
                         "waits for the API server to tell {}, and nothing was in force before{}{}",
                         what, problem.empty() ? "" : ": ", problem);
}

}  // namespace

NamedConfigs::NamedConfigs(net::Loop& loop,
                           base::Log& log,
                           Cluster& cluster,
                           const std::string& state_directory,
                           net::Task changed)
    : log_(log),
      cluster_(cluster),
      kept_path_(base::JoinPath(state_directory, "last-good/named-config")),
      changed_(std::move(changed)),
      folder_watch_(loop, "named-configs") {}

void NamedConfigs::Follow(const config::AgentConfig& config) {
  if (!kept_) ReadKept();
  if (!config::HasNamedConfigs(config)) return Stop();
  if (config.plugin_select_label.value != label_key_ || node_ == nullptr) {
    label_key_ = config.plugin_select_label.value;
    label_.reset();
    if (cluster_.absent()) label_ = "";  // nobody can set one
    SawNode(cluster_.node());
    node_ = cluster_.OnNode([this](const Value& node) { SawNode(node); });
  }
  const std::string& map = config.plugin_config_map.value;
  WatchFolder(map.empty() ? config.plugin_config_dir.value : "");
  WatchConfigMap(map);
}

void NamedConfigs::Stop() {
  node_.reset();
  WatchFolder("");
  WatchConfigMap("");
}

// A Node that is gone comes back with kubelet, as a rule with its labels: what they said holds.
void NamedConfigs::SawNode(const Value& node) {
  if (node.IsNull()) return;
  std::string label = LabelOf(node, label_key_);
  if (label_ == label) return;
  label_ = std::move(label);
  changed_();
}

void NamedConfigs::WatchFolder(const std::string& folder) {
  if (folder == folder_) return;
  folder_watch_.Stop();
  folder_ = folder;
  if (folder.empty()) return;
  const base::Result<void> watched =
      folder_watch_.Start(base::JoinPath(folder, "any"), [this] { changed_(); });
  if (!watched.ok())
    log_.Warn("the device plugin's configurations are not watched: tell the agent when they change",
              base::ErrorFields(watched.error()));
}

void NamedConfigs::WatchConfigMap(const std::string& name) {
  // One that is named while no API server is there is watched when there is.
  if (name == config_map_ && (watching_ || cluster_.client() == nullptr)) return;
  watching_.reset();
  config_map_ = name;
  texts_.reset();
  config_map_there_ = false;
  config_map_problem_.clear();
  refused_.reset();
  if (name.empty()) return;
  if (cluster_.client() == nullptr) {
    config_map_problem_ = cluster_.why_off();
    return;
  }
  const std::size_t slash = name.find('/');
  kube::WatchEvents events;
  events.seen = [this](const Value& object) {
    const bool was_there = std::exchange(config_map_there_, true);
    SeesConfigMap();
    Texts texts = kube::TextsOf(object);
    if (was_there && texts_ == texts) return;
    texts_ = std::move(texts);
    changed_();
  };
  events.gone = [this](const kube::ObjectName&) {
    config_map_there_ = false;
    texts_ = Texts();
    changed_();
  };
  events.resumed = [this] { SeesConfigMap(); };
  events.synced = [this] {
    SeesConfigMap();
    if (texts_) return;
    texts_ = Texts();
    changed_();
  };
  events.failed = [this](const base::Error& error) { FailedConfigMap(error); };
  watching_ = cluster_.client()->Watch(
      fmt::format("/api/v1/namespaces/{}/configmaps", name.substr(0, slash)),
      kube::FieldSelector("metadata.name", name.substr(slash + 1)), std::move(events));
}

void NamedConfigs::FailedConfigMap(const base::Error& error) {
  const std::string problem = error.ToString();
  if (std::exchange(config_map_problem_, problem) == problem) return;
  refused_.reset();
  if (error.code() == base::ErrorCode::kDenied) {
    const std::string space = config_map_.substr(0, config_map_.find('/'));
    refused_ = base::Error(error)
                   .Within(fmt::format("configmap/{} is not seen", config_map_))
                   .WithHint(fmt::format("allow the agent's account to list and watch "
                                         "configmaps in the namespace \"{}\", as the chart does",
                                         space));
  }
  changed_();
}

void NamedConfigs::SeesConfigMap() {
  config_map_problem_.clear();
  if (!std::exchange(refused_, std::nullopt)) return;
  changed_();
}

base::Result<std::vector<std::string>> NamedConfigs::Names(const config::AgentConfig& config,
                                                           const config::Selection& from) const {
  if (config.plugin_config_map.value.empty()) {
    base::Result<std::vector<std::string>> names = config::ConfigNames(from.source);
    if (names.ok() || !from.optional || names.error().code() != base::ErrorCode::kNotFound)
      return names;
    return std::vector<std::string>();
  }
  if (!config_map_there_) {
    const std::size_t slash = config_map_.find('/');
    return base::MakeError(base::ErrorCode::kNotFound, "{} is not there", from.source)
        .WithHint(fmt::format("kubectl -n {} create configmap {} --from-file=FILE",
                              config_map_.substr(0, slash), config_map_.substr(slash + 1)));
  }
  std::vector<std::string> names;
  for (const auto& [name, text] : *texts_) names.push_back(name);
  return names;
}

base::Result<std::string> NamedConfigs::TextOf(const config::AgentConfig& config,
                                               const std::string& name) const {
  if (!config.plugin_config_map.value.empty()) return texts_->at(name);
  return base::ReadRegularFile(config::NamedConfigPlace(config, name), config::Document::kMaxBytes);
}

base::Result<NamedConfig> NamedConfigs::Choose(const config::AgentConfig& config) const {
  config::Selection selection = config::SelectionOf(config);
  const std::string& map = config.plugin_config_map.value;
  const bool labelled = label_ && config.plugin_select_label.value == label_key_;
  const bool was_here = kept_ && kept_->source == selection.source;
  if (refused_ && map == config_map_) return *refused_;
  if (!map.empty() && !(texts_ && map == config_map_)) {
    if (std::optional<NamedConfig> last = was_here ? LastGood(config) : std::nullopt)
      return *std::move(last);
    return NotTold(selection.source, config_map_problem_);
  }
  selection.label = labelled ? *label_ : (was_here ? kept_->label : "");
  // What came from it and is gone is missed.
  if (was_here && !kept_->choice.name.empty()) selection.optional = false;
  TRY(names, Names(config, selection));
  // A folder that nobody asked for and that has nothing needs no label.
  if (!labelled && !was_here && !(selection.optional && names.empty()))
    return NotTold("the node's label " + selection.label_key, cluster_.problem());
  TRY(choice, config::Choose(names, selection));
  NamedConfig chosen{choice, selection.source, selection.label, "", ""};
  if (!choice.name.empty()) {
    chosen.where = config::NamedConfigPlace(config, choice.name);
    TRY(text, TextOf(config, choice.name));
    chosen.text = std::move(text);
  }
  TRY(read, config::ReadNamedPluginConfig(config, chosen.text, chosen.where));
  chosen.read = std::move(read);
  return chosen;
}

std::optional<NamedConfig> NamedConfigs::LastGood(const config::AgentConfig& config) const {
  if (!kept_) return std::nullopt;
  base::Result<config::PluginConfigResult> read =
      config::ReadNamedPluginConfig(config, kept_->text, kept_->where);
  if (!read.ok()) return std::nullopt;
  NamedConfig last = *kept_;
  last.read = *std::move(read);
  return last;
}

void NamedConfigs::ReadKept() {
  const base::Result<base::StateRead> read = base::ReadState(KeptFile(kept_path_));
  if (!read.ok()) return log_.Warn("last good configuration", base::ErrorFields(read.error()));
  if (!read->warning.empty())
    log_.Warn("last good configuration", {{LogKey::kError, read->warning}});
  if (read->payload) kept_ = FromKept(*read->payload);
}

bool NamedConfigs::IsKept(const NamedConfig& config) const {
  return kept_ && KeptDocument(*kept_) == KeptDocument(config);
}

void NamedConfigs::Keep(const NamedConfig& in_force) {
  kept_ = in_force;
  const std::string text = base::ToJson(KeptDocument(in_force));
  // A node that has never had one has no file of it.
  if (in_force.choice.by == config::ChosenBy::kNobody && !base::Exists(kept_path_)) return;
  const base::Result<void> kept = base::WriteState(KeptFile(kept_path_), text);
  if (!kept.ok())
    log_.Warn("the configuration is in force, but was not kept as the last good one",
              base::ErrorFields(kept.error()));
}

std::string NamedConfigs::Describe() const {
  if (!kept_ || kept_->where.empty()) return "the device plugin's defaults are in force";
  if (kept_->choice.by == config::ChosenBy::kLabel)
    return fmt::format("{} is in force (node label {}={})", kept_->where, label_key_, kept_->label);
  return fmt::format("{} is in force ({})", kept_->where, config::ToString(kept_->choice.by));
}

base::Value NamedConfigs::State() const {
  Value label = Value::Map().Set("key", label_key_).Set("value", label_ ? Value(*label_) : Value());
  Value state = Value::Map()
                    .Set("source", config_map_.empty() ? folder_ : "configmap/" + config_map_)
                    .Set("label", std::move(label));
  if (kept_)
    state.Set("name", kept_->choice.name)
        .Set("by", std::string(config::ToString(kept_->choice.by)))
        .Set("where", kept_->where);
  return state;
}

}  // namespace partita::agent
