#include "cli/agent/settings.h"

#include <string>

namespace partita::cli {
namespace {

// Which option says which key, by which variable else.
struct OptionRow {
  std::string option, key, variable;
};

const std::vector<OptionRow>& OptionRows() {
  static const std::vector<OptionRow> rows = {
      {"node-name", "node.name", "NODE_NAME"},
      {"host-root", "node.hostRoot", "PARTITA_HOST_ROOT"},
      {"driver-root", "node.driverRoot", "PARTITA_DRIVER_ROOT"},
      {"listen", "listen", "PARTITA_LISTEN"},
      {"log-format", "log.format", "PARTITA_LOG_FORMAT"},
      {"log-level", "log.level", "PARTITA_LOG_LEVEL"},
  };
  return rows;
}

}  // namespace

std::vector<base::Option> SettingOptions() {
  return {
      {.name = "config-file",
       .letter = 'f',
       .value_name = "FILE",
       .help = "the agent's configuration",
       .environment = "PARTITA_CONFIG_FILE",
       .default_value = std::string(config::kAgentConfigFile)},
      {.name = "node-name",
       .value_name = "NAME",
       .help = "this node's name in Kubernetes (node.name)",
       .environment = "NODE_NAME"},
      {.name = "listen",
       .value_name = "ADDRESS",
       .help = "where /healthz and /readyz are served: :9400, 127.0.0.1:9400, unix:/path (listen)",
       .environment = "PARTITA_LISTEN"},
      {.name = "log-format",
       .value_name = "FORMAT",
       .help = "how the log is written (log.format)",
       .environment = "PARTITA_LOG_FORMAT",
       .choices = {"text", "json"}},
      {.name = "log-level",
       .value_name = "LEVEL",
       .help = "the least important lines that are written (log.level)",
       .environment = "PARTITA_LOG_LEVEL",
       .choices = {"debug", "info", "warn", "error"}},
  };
}

config::AgentConfigSource ReadConfigSource(const base::Invocation& invocation) {
  config::AgentConfigSource source;
  source.required = invocation.Has("config-file");
  source.path = invocation.Get("config-file").value_or(std::string(config::kAgentConfigFile));
  for (const OptionRow& row : OptionRows()) {
    if (!invocation.Has(row.option)) continue;
    const bool variable = invocation.FromEnvironment(row.option);
    source.overrides.push_back(
        {row.key,
         invocation.Get(row.option).value_or(""),
         {variable ? config::OriginKind::kEnvironment : config::OriginKind::kFlag,
          variable ? row.variable : "--" + row.option}});
  }
  return source;
}

}  // namespace partita::cli
