// The words and variables that the reference's feature discovery is started with. Its file is the
// device plugin's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/plugin_config_options.h"
#include "config/plugin_flags.h"

namespace partita::config {

// In the order of its help.
[[nodiscard]] std::span<const PluginOption> DiscoveryOptions();

struct DiscoveryFlags {
  bool help = false, version = false;
  std::vector<PluginOverride> overrides{};
  // A MIG strategy that nobody knows, as flag or variable: the reference minds only once it has
  // GPUs to label. It is not among the overrides.
  std::optional<base::Error> bad_mig_strategy{};
  std::string config_file{};  // empty: none
  std::string kubeconfig{}, name_space{}, node_name{}, pod_name{};
  std::vector<std::string> ignored{};
};

// As ReadPluginFlags.
[[nodiscard]] base::Result<DiscoveryFlags> ReadDiscoveryFlags(std::span<const std::string> words,
                                                              const Variables& variables);

}  // namespace partita::config
