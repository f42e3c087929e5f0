#include "cli/explain/node_view.h"

#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "agent/control/control_client.h"
#include "base/files.h"
#include "cli/agent/settings.h"
#include "cli/report_error.h"
#include "cli/status/node_source.h"
#include "config/agent_config.h"
#include "config/document.h"
#include "model/unread.h"
#include "service/explain/model_node.h"
#include "service/inventory/node_facts.h"
#include "service/labels/clearing.h"

namespace partita::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using service::device_plugin::Report;
using service::labels::Taint;

constexpr std::chrono::seconds kReportPatience{5};

// How GPUs are handed out where no agent says.
struct PluginSettings {
  config::PluginConfig config;
  std::optional<Taint> taint;
  std::vector<config::OfferRule> rules;
  bool offered_by_default = true;
};

base::Result<PluginSettings> ReadSettings(const base::Invocation& invocation,
                                          std::vector<std::string>& warnings) {
  PluginSettings settings;
  TRY(agent, config::LoadAgentConfig(ReadConfigSource(invocation)));
  settings.rules = agent.offer_rules;
  settings.offered_by_default = agent.offer_default.value != "none";
  if (agent.taints_enabled.value == "true")
    settings.taint = Taint{agent.taints_key.value, agent.taints_value.value};
  config::PluginConfigResult loaded;
  if (const std::optional<std::string> path = invocation.Get("config")) {
    TRY(text, base::ReadFile(*path, config::Document::kMaxBytes));
    TRY(read, config::ParsePluginConfig(std::move(text), *path, config::PluginDefaults::kProduct,
                                        agent.plugin_strict.value == "true",
                                        agent.plugin_honour_resources.value == "true", {}));
    loaded = std::move(read);
    config::AddOwnSettings(agent, loaded.config);
  } else {
    TRY(read, config::LoadPluginConfig(agent));
    loaded = std::move(read);
  }
  for (std::string& warning : loaded.warnings) warnings.push_back(std::move(warning));
  settings.config = std::move(loaded.config);
  return settings;
}

// What an agent says of its node.
struct AgentWords {
  Report report;
  std::optional<Taint> taint;
};

std::optional<Taint> AskForTaint(agent::control::Client& client) {
  const base::Result<Value> answer =
      client.Call("config.named", Value::Map(), {.patience = kReportPatience});
  const Value* word = answer.ok() ? answer->Find("taint") : nullptr;
  if (word == nullptr || word->kind() != Value::Kind::kString) return std::nullopt;
  base::Result<Taint> taint = service::labels::ReadTaintWord(word->AsString());
  return taint.ok() ? std::optional(*std::move(taint)) : std::nullopt;
}

// Nothing: no agent runs here, or none that helps.
std::optional<AgentWords> AskForWords() {
  base::Result<agent::control::Client> client = agent::control::Client::Connect();
  Error error(ErrorCode::kUnavailable, "");
  if (client.ok()) {
    const base::Result<Value> answer =
        client->Call("plugin.report", Value::Map(), {.patience = kReportPatience});
    if (answer.ok()) {
      base::Result<Report> report = service::device_plugin::ReportFromWire(*answer);
      if (report.ok()) return AgentWords{*std::move(report), AskForTaint(*client)};
      error = std::move(report).error().Within("the agent's answer");
    } else {
      error = answer.error();
    }
  } else {
    error = client.error();
    // Its socket is root's alone; whoever else asks gets what he may see himself.
    if (error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kDenied)
      return std::nullopt;
  }
  Warn(error.ToString() + "; looked without the agent");
  return std::nullopt;
}

void Offer(const PluginSettings& settings, ExplainView& view) {
  view.node.config = settings.config;
  // A node is tainted while it has GPUs.
  if (!view.node.inventory.gpus.empty()) view.node.taint = settings.taint;
  view.node.plugin = service::device_plugin::ReportOf(
      service::device_plugin::Offer(view.node.inventory, settings.config, settings.rules,
                                    settings.offered_by_default, {}, {}),
      settings.config);
}

// What is left to say once it is known what is offered.
void Finish(const model::NodeFacts& facts, ExplainView& view) {
  for (const std::string& problem : view.node.plugin.problems) view.warnings.push_back(problem);
  view.node.labels =
      service::labels::Render(view.node.inventory, view.node.config, facts, {}).labels;
}

base::Result<ExplainView> ViewModel(const base::Invocation& invocation,
                                    const std::vector<std::string>& models) {
  ExplainView view;
  TRY(model, service::explain::MakeModelNode(models, invocation.Get("mig")));
  TRY(settings, ReadSettings(invocation, view.warnings));
  view.source = "model";
  view.node.model = true;
  view.node.inventory = std::move(model.inventory);
  Offer(settings, view);
  // Numbers of capability nodes are of a machine.
  for (auto& resource : view.node.plugin.resources)
    for (auto& device : resource.devices)
      std::erase_if(device.nodes,
                    [](const std::string& path) { return path.starts_with("/dev/nvidia-caps/"); });
  Finish(model.facts, view);
  view.warnings.emplace_back("this is a model: UUIDs are made up, and nobody holds anything");
  return view;
}

}  // namespace

base::Result<ExplainView> ViewNode(const base::Invocation& invocation,
                                   const CommandOptions& options) {
  const std::vector<std::string> models = invocation.GetAll("model");
  if (!models.empty()) return ViewModel(invocation, models);
  if (invocation.Has("mig"))
    return Error(ErrorCode::kInvalid, "--mig is for --model")
        .WithHint("`partita mig plan --want` shows what it would make of this machine");
  ExplainView view;
  view.node.inventory = SourceFor(options.reader).Look().inventory;
  if (!view.node.inventory.driver) return SayWhereToFind(model::WhyNoDriver(view.node.inventory));
  std::optional<AgentWords> said;
  // Other settings than the agent's: then who holds what is of no use either.
  if (!invocation.Has("config") && MayAskAgent(options.reader)) said = AskForWords();
  if (said) {
    view.source = "agent";
    TRY(config, service::device_plugin::ConfigOf(said->report), "the agent's answer");
    view.node.config = std::move(config);
    view.node.plugin = std::move(said->report);
    if (!view.node.inventory.gpus.empty()) view.node.taint = std::move(said->taint);
  } else {
    view.source = "look";
    TRY(settings, ReadSettings(invocation, view.warnings));
    Offer(settings, view);
    view.warnings.emplace_back(
        "no agent was asked: the answer is as if nobody held anything, by a single look");
  }
  Finish(service::inventory::ReadNodeFacts(options.reader.root), view);
  return view;
}

}  // namespace partita::cli
