// This program under the name config-manager, which the manifests of NVIDIA's device plugin run as
// init container and sidecar: its flags, variables and exit statuses. It keeps a link at the
// configuration that the node's label selects, and signals whoever reads it. partita's own agent
// needs neither.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"
#include "config/named/named_configs.h"
#include "config/plugin_flags.h"

namespace partita::cli {

inline constexpr std::string_view kConfigSelectorName = "config-manager";

struct SelectorOptions {
  bool oneshot = false;
  std::string kubeconfig, node_name, node_label;
  std::string folder, destination;
  std::string default_config;
  std::vector<config::Fallback> fallback;
  bool send_signal = true;
  int signal = 1;
  std::string process;  // by the first of its words
};
// kInvalid: what must be given and is not, and what cannot be.
[[nodiscard]] base::Result<SelectorOptions> ReadSelectorOptions(const config::FlagWords& words);
[[nodiscard]] base::Result<config::FlagWords> ReadSelectorWords(std::span<const std::string> words,
                                                                const config::Variables& variables);

// For --help, completion and the man page; the words are read as the reference reads them.
[[nodiscard]] base::Program MakeConfigSelectorProgram();

// Every error ends with status 1.
int ConfigSelectorMain(int argc, char** argv);

}  // namespace partita::cli
