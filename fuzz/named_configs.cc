// Any JSON as a ConfigMap of named configurations, and any of its keys as the label: what is chosen
// is there and reads whole, or is refused with its place.
#include <string>
#include <vector>

#include "base/json.h"
#include "config/agent_config.h"
#include "fuzz/target.h"
#include "kube/config_map.h"

namespace {

using partita::config::AgentConfig;

const AgentConfig& Config() {
  static const AgentConfig config = [] {
    auto parsed = partita::config::ParseAgentConfig(
        "version: partita/v1\ndevicePlugin: {configMap: a/b, fallback: [named, single, empty]}\n",
        "c.yaml", {});
    PARTITA_CHECK(parsed.ok());
    return *std::move(parsed);
  }();
  return config;
}

void Read(const std::string& name, std::string text) {
  const std::string place = partita::config::NamedConfigPlace(Config(), name);
  const auto read = partita::config::ReadNamedPluginConfig(Config(), std::move(text), place);
  if (!read.ok()) {
    PARTITA_CHECK(read.error().message().starts_with(place + ":"));
    return;
  }
  for (const auto& each : partita::config::NamedSettings(*read))
    PARTITA_CHECK(each.setting.origin.where.starts_with(place + ":"));
}

}  // namespace

FUZZ_TARGET(named_configs) {
  const auto object = partita::base::ParseJson(partita::fuzz::AsText(data, size));
  if (!object.ok()) return 0;
  const auto texts = partita::kube::TextsOf(*object);
  std::vector<std::string> names;
  names.reserve(texts.size());
  for (const auto& [name, text] : texts) names.push_back(name);
  for (const auto& [name, text] : texts) {
    Read(name, text);
    partita::config::Selection selection = partita::config::SelectionOf(Config());
    selection.label = name;
    const auto choice = partita::config::Choose(names, selection);
    PARTITA_CHECK(choice.ok() && (name.empty() || choice->name == name));
    selection.label = name + "-";
    const auto other = partita::config::Choose(names, selection);
    PARTITA_CHECK(other.ok() == texts.contains(selection.label));
  }
  return 0;
}
