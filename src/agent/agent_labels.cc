// Labels and taints within the agent: what they are told, and when.

#include <utility>

#include <fmt/format.h>

#include "agent/agent.h"
#include "base/environment.h"
#include "config/duration.h"
#include "service/labels/outputs.h"

namespace partita::agent {
namespace {

LabelBackend BackendNamed(const std::string& name) {
  if (name == "node") return LabelBackend::kNode;
  if (name == "nodefeature") return LabelBackend::kNodeFeature;
  if (name == "file") return LabelBackend::kFile;
  return LabelBackend::kNone;
}

// What a document of the device plugin's says of where labels go, as the agent would say it; empty:
// nothing.
std::string BackendAsked(const config::PluginConfig& plugin) {
  const std::optional<bool>& asked = plugin.feature_discovery.use_node_feature_api;
  if (!asked) return "";
  return *asked ? "nodefeature" : "file";
}

// The agent's own word counts, where there is one: what may be written is granted for that.
std::string BackendOf(const config::Setting& own, const config::PluginConfig& plugin) {
  const std::string asked = BackendAsked(plugin);
  return asked.empty() || own.origin.kind != config::OriginKind::kDefault ? own.value : asked;
}

}  // namespace

// Under the reference's name another program labels the node.
void Agent::StartLabels(const config::AgentConfig& config) {
  if (options_.device_plugin) return;
  labels_.Start(LabelOptionsOf(config), node_.live().current());
  TellLabelBackend(config);
  labels_node_ = node_.live().Subscribe(
      [this](const service::inventory::SnapshotPtr& snapshot, const service::inventory::Changes&) {
        labels_.SetNode(snapshot);
      });
  TellLabels();
  LabelsReady();
}

void Agent::StopLabels() {
  labels_node_.reset();
  labels_.Stop();
}

// Of what the device plugin goes by, also where it is not to offer anything.
LabelOptions Agent::LabelOptionsOf(const config::AgentConfig& config) const {
  LabelOptions options;
  options.file = config.labels_file.value;
  options.pod = base::ReadVariable("POD_NAME").value_or("");
  options.resync = *config::ParseDuration(config.labels_resync.value);
  options.per_model = config.labels_per_model.value == "true";
  if (config.taints_enabled.value == "true")
    options.taint = service::labels::Taint{config.taints_key.value, config.taints_value.value};
  if (plugin_config_) {
    options.plugin = *plugin_config_;
  } else if (base::Result<config::PluginConfigResult> read = config::LoadPluginConfig(config);
             read.ok()) {
    options.plugin = std::move(read->config);
  }
  // No daemon is started: nobody shares by it.
  if (!MpsOptionsOf(config).refused.empty()) options.plugin.mps.reset();
  options.backend = BackendNamed(BackendOf(config.labels_backend, options.plugin));
  options.root = config.host_root.value;
  options.state_directory = options_.state_directory;
  return options;
}

void Agent::SetLabels(const config::AgentConfig& config) {
  if (!labels_.running()) return StartLabels(config);
  labels_.SetOptions(LabelOptionsOf(config));
  TellLabelBackend(config);
}

// What is asked for and passed over.
void Agent::TellLabelBackend(const config::AgentConfig& config) {
  const config::Setting& own = config.labels_backend;
  const std::string asked = plugin_config_ ? BackendAsked(*plugin_config_) : "";
  std::string told;
  if (!asked.empty() && BackendOf(own, *plugin_config_) != asked)
    told = fmt::format(
        "\"flags.useNodeFeatureAPI: {}\" of the device plugin's configuration is passed over: "
        "\"labels.backend: {}\" ({}) counts",
        asked == "nodefeature", own.value, own.origin.where);
  if (std::exchange(told_backend_, told) != told && !told.empty())
    log_.Warn("labels",
              {{base::LogKey::kError, told},
               {base::LogKey::kHint, fmt::format("write \"labels.backend: {}\", or take the flag "
                                                 "out of that configuration",
                                                 asked)}});
}

// Labels that are late take nothing from what kubelet is offered.
void Agent::TellLabels() { readiness_.SetGood("labels", labels_.problem()); }

// Whoever keeps pods away until the agent is there waits for what kubelet hears from it.
void Agent::LabelsReady() {
  if (labels_.running() && (!plugin_config_ || plugin_.heard())) labels_.SetReady();
}

void Agent::TellLabelsTo(control::Call& call) const {
  if (!labels_.running())
    return call.Finish(base::Error(base::ErrorCode::kUnavailable, "this agent labels nothing"));
  const base::Value* reference = call.params().Find("reference");
  const bool ours = reference == nullptr || *reference != base::Value(true);
  call.Finish(service::labels::ToDocument(labels_.Render(ours), true));
}

base::Result<net::Task> Agent::PrepareLabels(const config::AgentConfig& next) {
  return net::Task([this, next] { SetLabels(next); });
}

}  // namespace partita::agent
