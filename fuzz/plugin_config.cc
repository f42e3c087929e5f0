// Any bytes as a configuration of the device plugin, as flags and as lists of XIDs: values within
// their limits that read back as they are shown, or problems with their places.
#include <string>

#include "base/text.h"
#include "config/plugin_config.h"
#include "config/plugin_flags.h"
#include "config/xid_overrides.h"
#include "fuzz/target.h"

namespace {

using partita::config::PluginConfig;
using partita::config::PluginConfigResult;
using partita::config::PluginDefaults;
using partita::config::SharedDevices;
using partita::config::SharedResource;
using partita::config::ShareSize;

partita::base::Result<PluginConfigResult> Parse(const std::string& text, bool strict) {
  return partita::config::ParsePluginConfig(text, "c.yaml", PluginDefaults::kProduct, strict, true,
                                            {});
}

void CheckShared(const SharedResource& resource) {
  PARTITA_CHECK(resource.name.starts_with("nvidia.com/") && resource.name.size() <= 63);
  PARTITA_CHECK(!resource.rename || resource.rename->size() <= 63);
  const std::uint32_t least = resource.shares.empty() ? 2 : 1;
  PARTITA_CHECK(resource.replicas >= least && resource.replicas <= 50'000);
  std::uint32_t replicas = 0;
  for (const ShareSize& size : resource.shares) {
    PARTITA_CHECK(resource.NameOf(size).size() <= 63 && size.replicas >= 1);
    PARTITA_CHECK((size.memory >= 1U << 20U) != (size.memory_percent >= 1));
    PARTITA_CHECK(size.memory_percent <= 100 && size.threads >= 1 && size.threads <= 100);
    replicas += size.replicas;
  }
  PARTITA_CHECK(resource.shares.empty() || (replicas == resource.replicas && replicas <= 48));
  const bool list = resource.devices.kind == SharedDevices::Kind::kList;
  const bool count = resource.devices.kind == SharedDevices::Kind::kCount;
  PARTITA_CHECK(list == !resource.devices.list.empty() && count == (resource.devices.count > 0));
}

void CheckConfig(const PluginConfig& config) {
  PARTITA_CHECK(!config.list_strategies.empty());
  if (config.time_slicing) {
    PARTITA_CHECK(!config.time_slicing->resources.empty());
    for (const SharedResource& resource : config.time_slicing->resources) {
      CheckShared(resource);
      PARTITA_CHECK(resource.shares.empty());
    }
  }
  if (config.mps)
    for (const SharedResource& resource : config.mps->resources) CheckShared(resource);
  for (const auto& each : config.gpu_names) static_cast<void>(each.Matches("NVIDIA H200"));
  const auto again =
      Parse(partita::base::ToYaml(partita::config::PluginConfigDocument(config)), true);
  PARTITA_CHECK(again.ok() && again->config == config);
}

}  // namespace

FUZZ_TARGET(plugin_config) {
  const std::string text(partita::fuzz::AsText(data, size));
  const auto parsed = Parse(text, false);
  if (parsed.ok())
    CheckConfig(parsed->config);
  else
    PARTITA_CHECK(parsed.error().message().starts_with("c.yaml:"));

  std::vector<std::string> words;
  for (const std::string_view line : partita::base::SplitLines(text)) words.emplace_back(line);
  const auto flags = partita::config::ReadPluginFlags(
      words, [&](const std::string&) { return std::optional<std::string>(text); });
  if (flags.ok()) {
    static_cast<void>(partita::config::ParsePluginConfig("", "c.yaml", PluginDefaults::kReference,
                                                         false, false, flags->overrides));
  }
  static_cast<void>(partita::config::ParseXidOverrides(text, text));
  return 0;
}
