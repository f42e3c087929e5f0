// The words and variables that the reference's device plugin is started with.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/plugin_config.h"

namespace partita::config {

struct PluginOption;

struct PluginFlags {
  bool help = false, version = false;
  std::vector<PluginOverride> overrides{};  // of keys of the document
  std::string config_file{};                // empty: none
  std::string kubelet_socket{};             // empty: register nowhere
  std::vector<std::string> cdi_feature_flags{}, cdi_disable_hooks{};
  std::vector<std::string> ignored{};  // words that are no flags, which the reference passes over
};

// What is read of any table of options.
struct FlagWords {
  bool help = false, version = false;
  std::vector<PluginOverride> overrides{};   // of keys of the document
  std::map<std::string, std::string> own{};  // of options that no document has, by their flags
  std::vector<std::string> ignored{};
};

using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// `words` are those behind the program's name. A flag counts before a variable, the first variable
// that is set before the next, for each option alone; a variable of a switch that is set to nothing
// says false. As Go reads flags: one dash or two, `--flag=value` or `--flag value`, a switch
// without a value; of several the last counts, but lists grow. Values are judged by
// ParsePluginConfig.
[[nodiscard]] base::Result<FlagWords> ReadFlagWords(std::span<const PluginOption> options,
                                                    std::span<const std::string> words,
                                                    const Variables& variables);
[[nodiscard]] base::Result<PluginFlags> ReadPluginFlags(std::span<const std::string> words,
                                                        const Variables& variables);

}  // namespace partita::config
