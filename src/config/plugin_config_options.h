// The options of the reference's device plugin, one row each: from it come the keys of the
// document, the flags and variables of the name `nvidia-device-plugin`, their help and both sets of
// defaults.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "config/document.h"
#include "config/plugin_config.h"
#include "config/problems.h"

namespace partita::config {

struct PluginOption {
  enum class Type : std::uint8_t {
    kFlag,      // true or false
    kText,      // anything
    kPath,      // absolute, or empty
    kChoice,    // one of `choices`
    kChoices,   // one or several of them
    kNumbers,   // a list of whole numbers
    kTexts,     // a list of anything
    kDuration,  // "60s", "infinite"
    kPrefix,    // of an annotation's key
  };
  // What a value that is known, but not served, comes with or why it does not.
  struct Refused {
    std::string value, why, hint;
  };

  std::string key;                     // "flags.migStrategy"; empty: no key of the document
  std::vector<std::string> flags;      // without "--"; the first is its name, the rest aliases
  std::vector<std::string> variables;  // the first that is set counts
  Type type = Type::kText;
  std::string reference_default{}, product_default{};  // lists with commas between
  std::vector<std::string> choices{};
  std::string help{};
  std::vector<Refused> refused{};
  bool for_feature_discovery = false;  // none of the plugin's
  // With words that were checked; absent where the option is no part of PluginConfig.
  std::function<void(PluginConfig&, const std::vector<std::string>&)> set{};
  std::function<base::Value(const PluginConfig&)> get{};
};

// In the order of the document.
[[nodiscard]] std::span<const PluginOption> PluginOptions();
[[nodiscard]] const PluginOption* FindPluginOption(std::string_view key);

// Whether it takes several values.
[[nodiscard]] bool IsList(const PluginOption& option);
// "a,b" is two words of a list, "" none; of every other option the text is the word.
[[nodiscard]] std::vector<std::string> WordsOf(const PluginOption& option, std::string_view text);
// Why one word cannot be a value of it, with what to write instead; nothing when it can. Switches
// as flags and variables have them: 1, t, T, TRUE, true, True and their opposites.
[[nodiscard]] std::optional<base::Error> WrongWord(const PluginOption& option,
                                                   const std::string& word);

// Checks a value of the document; nothing, with problems, when it is wrong.
[[nodiscard]] std::optional<std::vector<std::string>> ReadOption(const PluginOption& option,
                                                                 const Node& node,
                                                                 Problems& problems);

}  // namespace partita::config
