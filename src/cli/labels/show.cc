#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agent/control/control_client.h"
#include "base/characters.h"
#include "base/value.h"
#include "cli/agent/settings.h"
#include "cli/answer.h"
#include "cli/command_options.h"
#include "cli/draw/table.h"
#include "cli/exit_status.h"
#include "cli/labels/commands.h"
#include "cli/report_error.h"
#include "cli/status/node_source.h"
#include "config/agent_config.h"
#include "model/unread.h"
#include "service/inventory/node_facts.h"
#include "service/labels/labels.h"
#include "service/labels/outputs.h"

namespace partita::cli {
namespace {

using base::Value;
using service::labels::Labels;
using service::labels::Rendering;

std::string DrawLabels(const Rendering& rendering, bool explain, const Look& look) {
  if (rendering.labels.empty()) return "no labels\n";
  std::vector<std::vector<std::string>> rows = {{"label", "value"}};
  if (explain) rows.front().push_back("comes from");
  for (const auto& [key, value] : rendering.labels) {
    rows.push_back({key, value.empty() ? "\"\"" : value});
    if (explain) rows.back().push_back(base::Printable(rendering.sources.at(key)));
  }
  return ToString(DrawTable(rows, explain ? "lll" : "ll", 0, look), look.colour);
}

// What an agent would go by: how GPUs are shared and MIG devices named is in labels.
struct LabelConfig {
  config::PluginConfig plugin;
  bool per_model = true;
};
base::Result<LabelConfig> ConfigOf(const base::Invocation& invocation) {
  TRY(agent, config::LoadAgentConfig(ReadConfigSource(invocation)));
  TRY(plugin, config::LoadPluginConfig(agent));
  return LabelConfig{std::move(plugin.config), agent.labels_per_model.value == "true"};
}

// As the agent writes them: the configuration that is in force there may be another than the
// file's. Nothing: none runs here that could say.
std::optional<Rendering> AskForLabels(bool reference) {
  constexpr std::chrono::seconds kPatience{2};
  auto client = agent::control::Client::Connect(agent::control::SocketPath(), kPatience);
  if (!client.ok()) return std::nullopt;
  const auto answer =
      client->Call("labels", Value::Map().Set("reference", reference), {.patience = kPatience});
  if (!answer.ok()) return std::nullopt;
  base::Result<Rendering> rendering = service::labels::FromDocument(*answer);
  if (!rendering.ok()) return std::nullopt;
  return *std::move(rendering);
}

Rendering RenderingFor(const base::Invocation& invocation,
                       const service::inventory::ReaderOptions& reader,
                       const LabelConfig& config,
                       const model::Inventory& inventory) {
  const bool reference = invocation.Has("reference");
  if (MayAskAgent(reader) && !invocation.Has("config-file"))
    if (std::optional<Rendering> asked = AskForLabels(reference)) return *std::move(asked);
  return service::labels::Render(
      inventory, config.plugin, service::inventory::ReadNodeFacts(reader.root),
      {.started = std::nullopt, .ours = !reference, .per_model = config.per_model});
}

}  // namespace

int RunLabelsShow(const base::Invocation& invocation) {
  const base::Result<CommandOptions> options = ReadCommandOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  const base::Result<LabelConfig> config = ConfigOf(invocation);
  if (!config.ok()) {
    ReportError(config.error());
    return kExitInvalidInput;
  }
  const bool explain = invocation.Has("explain");
  const model::Inventory inventory = SourceFor(options->reader).Look().inventory;
  const Rendering rendering = RenderingFor(invocation, options->reader, *config, inventory);
  for (const std::string& warning : rendering.warnings) Warn(warning);
  PrintAs(options->format, service::labels::ToDocument(rendering, explain),
          DrawLabels(rendering, explain, options->look));
  if (inventory.driver) return kExitDone;
  return inventory.driver_error ? ReportError(SayWhereToFind(model::WhyNoDriver(inventory)))
                                : kExitNoDriver;
}

base::Command LabelsCommand() {
  base::Command show = {
      .name = "show",
      .summary = "Show the labels that this node gets",
      .description =
          "Lists every label with its value: those of NVIDIA's gpu-feature-discovery, "
          "nvidia.com/gpu.present, and those of partita.dev/ that tell each product of several. "
          "How GPUs are shared and how MIG devices are named comes from the agent's "
          "configuration.\n\n"
          "Where partita agent runs, it is asked, unless -f names a configuration. Without one, "
          "and where "
          "--driver-root, --library or --host-root name something else than this machine's, the "
          "command looks itself. Nothing is changed.\n\n"
          "Without a driver what is known all the same is shown, and the exit status is 6.",
      .options = {{.name = "explain", .letter = 'e', .help = "say where each value comes from"},
                  {.name = "reference",
                   .help = "only those that gpu-feature-discovery has, without its timestamp"}},
      .examples = {{"partita labels show", "what nodeSelectors can ask for here"},
                   {"partita labels show --explain", "and why it is so"},
                   {"partita labels show -o json", "for programs: partita.dev/labels/v1"}},
      .run = RunLabelsShow};
  for (base::Option& option : SettingOptions())
    if (option.name == "config-file") show.options.push_back(std::move(option));
  return {.name = "labels",
          .summary = "Show the labels of this node, and remove them at the end",
          .description = "What pods can ask for with a nodeSelector, as far as GPUs go.",
          .examples = {{"partita labels show", "all of them"}},
          .commands = {std::move(show), LabelsClearCommand()}};
}

}  // namespace partita::cli
