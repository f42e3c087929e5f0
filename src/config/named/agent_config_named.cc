// What the agent's configuration says of configurations of the device plugin with names.
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "config/agent_config.h"
#include "config/document.h"

namespace partita::config {
namespace {

std::string SourceOf(const AgentConfig& config) {
  return config.plugin_config_map.value.empty()
             ? config.plugin_config_dir.value
             : std::string(kConfigMapPlace) + config.plugin_config_map.value;
}

}  // namespace

bool HasNamedConfigs(const AgentConfig& config) {
  if (config.plugin_inline || !config.plugin_config_file.value.empty()) return false;
  return !SourceOf(config).empty();
}

Selection SelectionOf(const AgentConfig& config) {
  base::Result<std::vector<Fallback>> fallback = ParseFallbacks(config.plugin_fallback.value);
  PARTITA_CHECK(fallback.ok());
  return {.label = "",
          .default_name = config.plugin_default.value,
          .fallback = *std::move(fallback),
          .optional = config.plugin_config_map.value.empty() &&
                      config.plugin_config_dir.value == kPluginConfigDir,
          .source = SourceOf(config),
          .label_key = config.plugin_select_label.value,
          .default_where = config.plugin_default.origin.where};
}

std::string NamedConfigPlace(const AgentConfig& config, const std::string& name) {
  return base::JoinPath(SourceOf(config), name);
}

base::Result<std::vector<std::string>> CheckNamedConfigs(const AgentConfig& config) {
  std::vector<std::string> warnings;
  if (!HasNamedConfigs(config) || !config.plugin_config_map.value.empty()) return warnings;
  const Selection selection = SelectionOf(config);
  base::Result<std::vector<std::string>> names = ConfigNames(selection.source);
  if (!names.ok()) {
    const bool absent = names.error().code() == base::ErrorCode::kNotFound;
    if (!absent || !selection.optional)
      return std::move(names).error().Within(
          fmt::format("{}: devicePlugin.configDir", config.plugin_config_dir.origin.where));
    names = std::vector<std::string>();
  }
  // Which one a node's label selects is not known here; that a default is there is.
  if (!selection.default_name.empty()) TRY_VOID(Choose(*names, selection));
  for (const std::string& name : *names) {
    const std::string path = NamedConfigPlace(config, name);
    TRY(text, base::ReadRegularFile(path, Document::kMaxBytes));
    TRY(read, ReadNamedPluginConfig(config, std::move(text), path));
    warnings.insert(warnings.end(), read.warnings.begin(), read.warnings.end());
  }
  return warnings;
}

}  // namespace partita::config
