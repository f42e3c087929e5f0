// The device plugin's configuration within the agent: read or chosen, kept, told.

#include <utility>

#include <fmt/format.h>

#include "agent/agent.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "config/document.h"
#include "service/labels/taints.h"

namespace partita::agent {
namespace {

using base::LogKey;
using base::Value;

constexpr const char* kLastGood = "last-good/device-plugin.json";
constexpr const char* kCondition = "partita.dev/GPUConfigApplied";

// Under the reference's name its file counts, with flags and variables over it.
base::Result<config::PluginConfigResult> ReadStart(const PluginStart& start) {
  std::string text;
  if (!start.config_file.empty()) {
    TRY(content, base::ReadRegularFile(start.config_file, config::Document::kMaxBytes));
    text = std::move(content);
  }
  return config::ParsePluginConfig(std::move(text), start.config_file,
                                   config::PluginDefaults::kReference, false, false,
                                   start.overrides);
}

// Without the line of the file and the caret below it.
std::string WithoutCarets(const std::string& text) { return text.substr(0, text.find('\n')); }

// What is wrong in one line, with what to do: of a rendered problem the words behind its carets.
std::string OnOneLine(const base::Error& error) {
  const std::string text = error.ToString();
  std::string hint = error.hint();
  if (const std::size_t carets = text.find("^ "); hint.empty() && carets != std::string::npos) {
    hint = text.substr(carets + 2);
    hint = hint.substr(0, hint.find('\n'));
  }
  return hint.empty() ? WithoutCarets(text) : fmt::format("{} ({})", WithoutCarets(text), hint);
}

}  // namespace

base::Result<config::PluginConfig> Agent::ReadPlugin(const config::AgentConfig& config) const {
  TRY(loaded, options_.device_plugin ? ReadStart(*options_.device_plugin)
                                     : config::LoadPluginConfig(config));
  for (const std::string& warning : loaded.warnings)
    log_.Warn("device plugin's configuration", {{LogKey::kError, warning}});
  return loaded.config;
}

// Under the reference's name everything is as it is told.
bool Agent::ChoosesPlugin(const config::AgentConfig& config) const {
  return !options_.device_plugin && config::HasNamedConfigs(config);
}

// A single one that is written down is good or refuses the whole configuration. One that is chosen
// by others (a label, a ConfigMap) does not: what is in force stays, and the rest is taken.
base::Result<Agent::PluginWish> Agent::WishedPlugin(const config::AgentConfig& config) const {
  PluginWish wish;
  if (!ChoosesPlugin(config)) {
    TRY(read, ReadPlugin(config));
    wish.config = std::move(read);
    return wish;
  }
  base::Result<NamedConfig> named = named_.Choose(config);
  if (named.ok()) {
    wish.config = named->read.config;
    wish.named = *std::move(named);
    return wish;
  }
  wish.rejected = std::move(named).error();
  wish.config = plugin_config_ ? plugin_config_ : LastGoodPlugin();
  return wish;
}

// A document that went bad while nobody ran is passed over as a bad config.yaml is.
void Agent::ReadPluginAtStart() {
  plugin_config_.reset();
  if (!config_.serving || config_.config.plugin_enabled.value != "true") return;
  readiness_.Expect("device plugin");
  if (ChoosesPlugin(config_.config)) named_.Follow(config_.config);
  base::Result<PluginWish> wish = WishedPlugin(config_.config);
  if (wish.ok()) return TakePlugin(*wish);
  PluginWish last{LastGoodPlugin(), std::nullopt, std::nullopt};
  log_.Error("bad configuration of the device plugin", base::ErrorFields(wish.error()));
  if (last.config)
    log_.Warn("the last good configuration of the device plugin is in force");
  else
    readiness_.SetBad("device plugin", wish.error().ToString());
  plugin_config_ = last.config;
}

// What was in force last, also in another life.
std::optional<config::PluginConfig> Agent::LastGoodPlugin() const {
  if (ChoosesPlugin(config_.config))
    if (const std::optional<NamedConfig> last = named_.LastGood(config_.config))
      return last->read.config;
  const std::string path = base::JoinPath(options_.state_directory, kLastGood);
  base::Result<std::string> kept = base::ReadFile(path);
  if (!kept.ok()) return std::nullopt;
  base::Result<config::PluginConfigResult> good = config::ParsePluginConfig(
      *std::move(kept), path, config::PluginDefaults::kProduct, true, true, {});
  if (!good.ok()) return std::nullopt;
  // It says everything, so that nobody knows any more what was chosen.
  good->config.list_unasked =
      good->config.list_strategies == std::vector{config::ListStrategy::kCdiCri};
  config::AddOwnSettings(config_.config, good->config);
  return good->config;
}

void Agent::TakePlugin(const PluginWish& wish) {
  const std::string told = plugin_rejected_ ? plugin_rejected_->ToString() : "";
  plugin_config_ = wish.config;
  plugin_rejected_ = wish.rejected;
  if (wish.rejected && wish.rejected->ToString() != told)
    log_.Error(wish.config ? "bad configuration of the device plugin: the one before stays in force"
                           : "no configuration of the device plugin: nothing is offered",
               base::ErrorFields(*wish.rejected));
  if (wish.rejected && !wish.config)
    readiness_.SetBad("device plugin", WithoutCarets(wish.rejected->ToString()));
  if (wish.named && !named_.IsKept(*wish.named)) {
    log_.Info("configuration of the device plugin", {{LogKey::kPath, wish.named->where}});
    for (const std::string& warning : wish.named->read.warnings)
      log_.Warn("device plugin's configuration", {{LogKey::kError, warning}});
    named_.Keep(*wish.named);
  }
  if (wish.config && !wish.rejected) KeepPlugin();
}

void Agent::KeepPlugin() {
  const std::string path = base::JoinPath(options_.state_directory, kLastGood);
  const std::string text = base::ToJson(config::PluginConfigDocument(*plugin_config_));
  const base::Result<std::string> now = base::ReadFile(path);
  if (now.ok() && *now == text) return;
  const base::Result<void> kept = base::ReplaceRegularFile(path, text, 0600);
  if (!kept.ok())
    log_.Warn("the device plugin's configuration was not kept as the last good one",
              base::ErrorFields(kept.error()));
}

// The label, the folder or the ConfigMap is another.
void Agent::ChooseAgain() {
  if (!running_ || !config_.serving || !ChoosesPlugin(config_.config)) return;
  const base::Result<net::Task> commit = PreparePlugin(config_.config);
  PARTITA_CHECK(commit.ok());  // what is bad is passed over
  (*commit)();
  // Labels say what is shared among how many.
  if (labels_.running()) SetLabels(config_.config);
  TellConfig();
}

// What is in force, for people.
std::string Agent::ConfigInForce() const {
  if (!ChoosesPlugin(config_.config) || config_.config.plugin_enabled.value != "true")
    return fmt::format("{} is in force", keeper_.path());
  return named_.Describe();
}

// An Event for what is news, and a condition for what is so.
void Agent::TellConfigToCluster() {
  if (cluster_.client() == nullptr) return;
  std::vector<std::string> rejected;
  for (const std::optional<base::Error>* each : {&config_.rejected, &plugin_rejected_})
    if (*each) rejected.push_back(OnOneLine(**each));
  const bool awaited = !config_.rejected && plugin_rejected_ &&
                       plugin_rejected_->code() == base::ErrorCode::kUnavailable;
  const std::string message = rejected.empty() ? ConfigInForce() : base::Join(rejected, "; ");
  const bool first = told_config_.empty();
  if (std::exchange(told_config_, message) == message) return;
  if (awaited)
    return cluster_.SetCondition(kCondition, Cluster::Status::kUnknown, "ConfigAwaited", message);
  cluster_.SetCondition(kCondition,
                        rejected.empty() ? Cluster::Status::kTrue : Cluster::Status::kFalse,
                        rejected.empty() ? "ConfigApplied" : "ConfigRejected", message);
  if (!rejected.empty())
    cluster_.Tell(kube::EventType::kWarning, "ConfigRejected", message);
  else if (!first)  // an agent that starts as it ended is no news
    cluster_.Tell(kube::EventType::kNormal, "ConfigApplied", message);
}

Value Agent::NamedState() const {
  if (!ChoosesPlugin(config_.config)) return {};
  return named_.State().Set("rejected",
                            plugin_rejected_ ? Value(plugin_rejected_->ToString()) : Value());
}

Value Agent::NamedReport() const {
  Value report = Value::Map().Set("file", keeper_.path()).Set("overlay", keeper_.overlay());
  if (config_.config.taints_enabled.value == "true")
    report.Set("taint", service::labels::TaintWord(
                            {config_.config.taints_key.value, config_.config.taints_value.value}));
  if (!ChoosesPlugin(config_.config)) return report;
  Value settings = Value::List();
  if (const std::optional<NamedConfig> in_force = named_.LastGood(config_.config)) {
    for (const config::KeyedSetting& each : config::NamedSettings(in_force->read))
      settings.Add(Value::Map()
                       .Set("key", each.key)
                       .Set("value", each.setting.value)
                       .Set("where", each.setting.origin.where));
  }
  return report.Set("named", NamedState().Set("settings", std::move(settings)));
}

}  // namespace partita::agent
