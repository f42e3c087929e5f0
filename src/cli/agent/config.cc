#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "agent/control/control_client.h"
#include "base/characters.h"
#include "base/files.h"
#include "base/text.h"
#include "base/value.h"
#include "cli/agent/commands.h"
#include "cli/agent/kubeconfig_check.h"
#include "cli/agent/named_rows.h"
#include "cli/agent/settings.h"
#include "cli/answer.h"
#include "cli/exit_status.h"
#include "cli/report_error.h"
#include "config/agent_config.h"
#include "config/named/overlay.h"

namespace partita::cli {
namespace {

using config::AgentConfig;
using config::Setting;

// Longer than any part of the agent takes to judge a file.
constexpr std::chrono::seconds kReloadPatience{15};

// A file that cannot be opened is invalid input too.
int ReportInvalid(const base::Error& error) {
  ReportError(error);
  return kExitInvalidInput;
}

void WarnOf(const std::string& warning) {
  std::fprintf(stderr, "partita: warning: %s\n", base::Printable(warning, "\n").c_str());
}

std::string OriginText(const Setting& setting) {
  return setting.origin.where.empty() ? std::string(ToString(setting.origin.kind))
                                      : setting.origin.where;
}

std::string OriginsTable(const std::vector<config::KeyedSetting>& settings) {
  std::size_t key_width = 0, value_width = 0;
  const auto shown = [](const Setting& setting) {
    return setting.value.empty() ? std::string("\"\"") : setting.value;
  };
  for (const auto& [key, setting] : settings) {
    key_width = std::max(key_width, key.size());
    value_width = std::max(value_width, base::CountCharacters(shown(setting)));
  }
  std::string text;
  for (const auto& [key, setting] : settings) {
    const std::string value = shown(setting);
    text += fmt::format("{:<{}}  {}{:{}}  {}\n", key, key_width, value, "",
                        value_width - base::CountCharacters(value), OriginText(setting));
  }
  return text;
}

base::Result<AgentConfig> LoadWith(const config::AgentConfigSource& source,
                                   const std::string& overlay) {
  if (overlay.empty()) return config::LoadAgentConfig(source);
  TRY(text, config::ReadAgentConfigText(source));
  TRY(over, config::ReadOverlay(source.path, overlay));
  return config::ParseAgentConfigOver(std::move(text), source.path, std::move(over),
                                      source.overrides);
}

// Behind the settings of their section.
std::vector<config::KeyedSetting> SettingsWithNamed(const AgentConfig& config,
                                                    const AgentReport& report) {
  std::vector<config::KeyedSetting> settings = config::AllSettings(config);
  const auto last = std::find_if(
      settings.rbegin(), settings.rend(),
      [](const config::KeyedSetting& each) { return each.key.starts_with("devicePlugin."); });
  const std::vector<config::KeyedSetting> named = NamedRows(config, report.named);
  settings.insert(last.base(), named.begin(), named.end());
  if (!report.overlay.empty()) {
    const config::Origin label{config::OriginKind::kLabel,
                               fmt::format("label {}", config::kOverlayLabel)};
    settings.insert(settings.begin(), config::KeyedSetting{"overlay", {report.overlay, label}});
  }
  return settings;
}

int PrintText(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitDone;
}

}  // namespace

int RunConfigCheck(const base::Invocation& invocation) {
  const config::AgentConfigSource source = ReadConfigSource(invocation);
  const base::Result<AgentConfig> config = config::LoadAgentConfig(source);
  if (!config.ok()) return ReportInvalid(config.error());
  if (const base::Result<void> files = config::CheckNamedFiles(*config); !files.ok())
    return ReportInvalid(files.error());
  // Not for the agent itself, which serves GPUs also while it finds no way to the API server.
  if (const base::Result<void> way = CheckKubeconfig(*config, source); !way.ok())
    return ReportInvalid(way.error());
  const base::Result<std::vector<std::string>> named = config::CheckNamedConfigs(*config);
  if (!named.ok()) return ReportInvalid(named.error());
  for (const std::string& warning : *named) WarnOf(warning);
  if (const auto plugin = config::LoadPluginConfig(*config); plugin.ok()) {
    for (const std::string& warning : plugin->warnings) WarnOf(warning);
  }
  const bool there = base::Exists(source.path);
  return PrintText(there ? fmt::format("{}: valid\n", source.path)
                         : fmt::format("{}: absent, so all defaults\n", source.path));
}

int RunConfigShow(const base::Invocation& invocation) {
  const config::AgentConfigSource source = ReadConfigSource(invocation);
  const AgentReport report = AskForNamed(source.path);
  const base::Result<AgentConfig> config = LoadWith(source, report.overlay);
  if (!config.ok()) return ReportInvalid(config.error());
  if (!invocation.Has("origin")) {
    const base::Value document = config::AgentConfigDocument(*config);
    return PrintAnswer(invocation, document, base::ToYaml(document), kExitDone);
  }
  const std::vector<config::KeyedSetting> settings = SettingsWithNamed(*config, report);
  return PrintAnswer(invocation, config::SettingsDocument(settings), OriginsTable(settings),
                     kExitDone);
}

int RunConfigReload(const base::Invocation& /*invocation*/) {
  base::Result<agent::control::Client> client = agent::control::Client::Connect();
  if (!client.ok()) {
    ReportError(client.error());
    return kExitError;
  }
  const base::Result<base::Value> answer =
      client->Call("reload", base::Value::Map(), {.patience = kReloadPatience});
  if (!answer.ok()) return ReportError(answer.error());
  std::vector<std::string> keys;
  if (const base::Value* changed = answer->Find("changed")) {
    for (const base::Value& key : changed->items()) keys.push_back(key.AsString());
  }
  const std::string text = keys.empty()
                               ? std::string("in force; nothing changed\n")
                               : fmt::format("in force; changed: {}\n", base::Join(keys, ", "));
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitDone;
}

base::Command ConfigCommand() {
  base::Command check = {
      .name = "check",
      .summary = "Say whether a configuration is valid",
      .description =
          "Reads the file, and the MIG configurations, hooks, kubeconfig and configurations of the "
          "device plugin that it names, and tells every problem with its line and what to write "
          "instead. It "
          "needs neither GPU nor cluster and "
          "changes nothing. Without a file everything has its default, which is valid.",
      .options = SettingOptions(),
      .examples = {{"partita config check", "the file that the agent reads"},
                   {"partita config check -f new.yaml", "one that is still to be installed"}},
      .run = RunConfigCheck};
  base::Command show = {
      .name = "show",
      .summary = "Show the configuration that an agent would run with",
      .description =
          "Prints every setting, also those that nobody set, as a file that says the same. A flag "
          "wins over an environment variable, that over the file, and the file over the default; "
          "--origin says for each setting which of them it was, in a file with line and column. It "
          "also "
          "shows which of the device plugin's named configurations is in force, what the node's "
          "label says of it, and where its values are written: the agent that runs with this file "
          "is asked.",
      .options = SettingOptions(),
      .examples = {{"partita config show", "as a file"},
                   {"partita config show --origin", "with the source of each value"},
                   {"partita config show --origin -o json", "for programs"}},
      .run = RunConfigShow};
  show.options.push_back({.name = "origin", .help = "say where each value comes from"});
  base::Command reload = {
      .name = "reload",
      .summary = "Have the running agent read its configuration again",
      .description =
          "As SIGHUP does, and tells what came of it. The new file is read and judged first: one "
          "that is bad changes nothing, and the exit status is 2.",
      .examples = {{"partita config reload", "after config.yaml was edited"},
                   {"systemctl reload partita-agent", "the same, by systemd"}},
      .run = RunConfigReload};
  return {.name = "config",
          .summary = "Check, show and reload the agent's configuration",
          .description =
              "The agent reads /etc/partita/config.yaml when it starts, on SIGHUP and when it is "
              "told to reload.",
          .examples = {{"partita config check", "before the agent is told to reload"}},
          .commands = {check, show, reload}};
}

}  // namespace partita::cli
