// Configurations of the device plugin by name, one of which a node's label selects: those of a
// folder, or the keys of a ConfigMap.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace partita::config {

// What is taken where neither label nor default names one, in order.
enum class Fallback : std::uint8_t {
  kNamed,   // the one called "default"
  kSingle,  // the only one that there is
  kEmpty,   // none: everything has its default
};
inline constexpr std::string_view kNamedDefault = "default";
// As they are written: "named", "single", "empty".
[[nodiscard]] const std::vector<std::string>& FallbackNames();
// "named,single"; empty for none. kInvalid: a word that is none of them.
[[nodiscard]] base::Result<std::vector<Fallback>> ParseFallbacks(std::string_view words);

// How a configuration came to be chosen.
enum class ChosenBy : std::uint8_t {
  kLabel,
  kDefault,
  kNamed,
  kSingle,
  kEmpty,
  kNobody,  // there is none, and nobody asked for one
};
// "label", "default", "fallback named", "fallback single", "fallback empty", "nobody".
[[nodiscard]] std::string_view ToString(ChosenBy by);

// What decides, with how each of it is called in messages.
struct Selection {
  std::string label;         // its value; empty: it is not set
  std::string default_name;  // empty: none
  std::vector<Fallback> fallback{};
  bool optional = false;  // nobody asked for named configurations: that there are none is fine
  std::string source;     // "/etc/partita/device-plugin.d"
  std::string label_key;  // "nvidia.com/device-plugin.config"
  std::string default_key = "devicePlugin.default";
  std::string default_where{};  // "/etc/partita/config.yaml:4:12"; empty: not in a file
  bool operator==(const Selection&) const = default;
};

struct Choice {
  std::string name;  // empty: none of them, everything has its default
  ChosenBy by = ChosenBy::kNobody;
  bool operator==(const Choice&) const = default;
};

// `available` are the names that there are. kNotFound: the one that is named is none of them, or
// nothing says which.
[[nodiscard]] base::Result<Choice> Choose(std::span<const std::string> available,
                                          const Selection& selection);

// The names in a folder, sorted: files, also behind links, whose names do not begin with "..",
// which are Kubernetes' own in a mounted ConfigMap.
[[nodiscard]] base::Result<std::vector<std::string>> ConfigNames(const std::string& folder);

}  // namespace partita::config
