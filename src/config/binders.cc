#include "config/binders.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::config {
namespace {

constexpr std::array<std::string_view, 9> kTrue = {"true", "True", "TRUE", "yes", "Yes",
                                                   "YES",  "on",   "On",   "ON"};
constexpr std::array<std::string_view, 9> kFalse = {"false", "False", "FALSE", "no", "No",
                                                    "NO",    "off",   "Off",   "OFF"};

std::string Suggestion(std::string_view word, std::span<const std::string> candidates) {
  const std::string near = base::DidYouMean(word, candidates);
  return near.empty() ? "" : fmt::format("did you mean \"{}\"?", near);
}

void AddExpected(const Node& node, Problems& problems, std::string_view expected) {
  std::string hint;
  if (node.IsScalar() && node.quoted && !node.text.empty()) hint = "write it without quotes";
  problems.Add(node, fmt::format("expected {}, not {}", expected, problems.Describe(node)),
               std::move(hint));
}

std::optional<std::uint64_t> ParseYamlUnsigned(const Node& node) {
  if (!node.IsScalar() || node.quoted) return std::nullopt;
  if (const auto hex = base::WithoutPrefix(node.text, "0x")) return base::ParseUnsigned(*hex, 16);
  if (const auto octal = base::WithoutPrefix(node.text, "0o"))
    return base::ParseUnsigned(*octal, 8);
  return base::ParseUnsigned(node.text);
}

std::string RangeText(UnsignedRange range) {
  const bool top = range.max == std::numeric_limits<std::uint64_t>::max();
  if (top && range.min == 0) return "a number";
  if (top) return fmt::format("a number from {}", range.min);
  return fmt::format("a number from {} to {}", range.min, range.max);
}

}  // namespace

std::optional<std::uint64_t> ReadUnsigned(const Node& node,
                                          Problems& problems,
                                          UnsignedRange range) {
  const std::optional<std::uint64_t> value = ParseYamlUnsigned(node);
  if (value && *value >= range.min && *value <= range.max) return value;
  AddExpected(node, problems, RangeText(range));
  return std::nullopt;
}

std::optional<std::int64_t> ReadInteger(const Node& node, Problems& problems) {
  if (node.IsScalar() && !node.quoted) {
    if (const std::optional<std::int64_t> value = base::ParseInteger(node.text)) return value;
  }
  AddExpected(node, problems, "a whole number");
  return std::nullopt;
}

std::optional<double> ReadNumber(const Node& node, Problems& problems) {
  if (node.IsScalar() && !node.quoted) {
    double value = 0;
    const char* end = node.text.data() + node.text.size();
    const auto [stop, error] = std::from_chars(node.text.data(), end, value);
    if (error == std::errc() && stop == end && std::isfinite(value)) return value;
  }
  AddExpected(node, problems, "a number");
  return std::nullopt;
}

std::optional<bool> ReadBool(const Node& node, Problems& problems) {
  if (node.IsScalar() && !node.quoted) {
    if (std::find(kTrue.begin(), kTrue.end(), node.text) != kTrue.end()) return true;
    if (std::find(kFalse.begin(), kFalse.end(), node.text) != kFalse.end()) return false;
  }
  AddExpected(node, problems, "true or false");
  return std::nullopt;
}

std::optional<std::string> ReadString(const Node& node, Problems& problems) {
  if (node.IsScalar()) return node.text;
  problems.Add(node, "expected a text, not " + problems.Describe(node));
  return std::nullopt;
}

std::optional<std::uint64_t> ReadSize(const Node& node, Problems& problems) {
  if (node.IsScalar()) {
    if (const std::optional<std::uint64_t> bytes = base::ParseSize(node.text)) return bytes;
  }
  problems.Add(node, fmt::format("expected a size, not {}", problems.Describe(node)),
               "write it like 512MiB, 40GB or 4096");
  return std::nullopt;
}

std::optional<std::size_t> ReadChoice(const Node& node,
                                      Problems& problems,
                                      std::span<const std::string> words) {
  if (!node.IsScalar()) {
    problems.Add(
        node, fmt::format("expected {}, not {}", base::JoinWithOr(words), problems.Describe(node)));
    return std::nullopt;
  }
  const auto found = std::find(words.begin(), words.end(), node.text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  problems.Add(node,
               fmt::format("expected {}, not {}", base::JoinWithOr(words), problems.Describe(node)),
               Suggestion(node.text, words));
  return std::nullopt;
}

std::vector<std::string> ReadStrings(const Node& list, Problems& problems) {
  std::vector<std::string> values;
  if (!ExpectList(list, problems, "a list of texts")) return values;
  for (const Node& item : list.items) {
    if (std::optional<std::string> value = ReadString(item, problems))
      values.push_back(*std::move(value));
  }
  return values;
}

std::vector<std::uint64_t> ReadUnsigneds(const Node& list, Problems& problems) {
  std::vector<std::uint64_t> values;
  if (!ExpectList(list, problems, "a list of numbers")) return values;
  for (const Node& item : list.items) {
    if (const std::optional<std::uint64_t> value = ReadUnsigned(item, problems))
      values.push_back(*value);
  }
  return values;
}

bool ExpectMap(const Node& node, Problems& problems, std::string_view what) {
  if (node.IsMap()) return true;
  problems.Add(node, fmt::format("expected {}, not {}", what, problems.Describe(node)),
               "write it as \"key: value\" lines");
  return false;
}

bool ExpectList(const Node& node, Problems& problems, std::string_view what) {
  if (node.IsList()) return true;
  problems.Add(node, fmt::format("expected {}, not {}", what, problems.Describe(node)),
               "write it as \"- item\" lines or [a, b]");
  return false;
}

const Node* Require(const Node& map, std::string_view key, Problems& problems) {
  const Node* value = map.Find(key);
  if (value == nullptr) problems.Add(map, fmt::format("missing key \"{}\"", key));
  return value;
}

void RejectUnknownKeys(const Node& map, std::span<const std::string> allowed, Problems& problems) {
  for (const Node::Entry& entry : map.entries) {
    if (std::find(allowed.begin(), allowed.end(), entry.key.text) != allowed.end()) continue;
    std::string hint = Suggestion(entry.key.text, allowed);
    if (hint.empty() && allowed.size() <= 12)
      hint = fmt::format("known here: {}", base::Join(allowed, ", "));
    problems.Add(entry.key, fmt::format("unknown key {}", base::Quoted(entry.key.text)),
                 std::move(hint));
  }
}

}  // namespace partita::config
