#include "config/plugin_config_options.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include "base/text.h"
#include "config/binders.h"
#include "config/duration.h"
#include "config/resource_name.h"

namespace partita::config {
namespace {

using Type = PluginOption::Type;

constexpr std::array<std::string_view, 12> kSwitchWords = {
    "1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"};
// "nvidia-device-plugin_" and a UUID stand behind the prefix, and 63 characters are the most that
// may follow a slash.
constexpr std::size_t kMostBehindSlash = 63 - 21 - 36;

base::Error Expected(std::string_view what, std::string_view word, std::string hint = "") {
  base::Error error =
      base::MakeError(base::ErrorCode::kInvalid, "expected {}, not {}", what, base::Quoted(word));
  if (hint.empty()) return error;
  return std::move(error).WithHint(std::move(hint));
}

std::optional<base::Error> WrongChoice(const PluginOption& option, const std::string& word) {
  if (std::find(option.choices.begin(), option.choices.end(), word) != option.choices.end())
    return std::nullopt;
  const std::string near = base::DidYouMean(word, option.choices);
  return Expected(base::JoinWithOr(option.choices), word,
                  near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
}

std::optional<base::Error> WrongDuration(const std::string& word) {
  if (word == "infinite") return std::nullopt;
  const std::optional<std::chrono::nanoseconds> time = ParseDuration(word);
  if (!time) return Expected("a duration", word, "with a unit, as 60s, or infinite");
  if (time->count() != 0 && *time < std::chrono::seconds(1))
    return Expected("a duration of a second or more", word, "such a short one never rests");
  return std::nullopt;
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::optional<base::Error> WrongPrefix(const std::string& word) {
  const std::size_t slash = word.find('/');
  const std::string_view behind =
      slash == std::string::npos ? std::string_view() : std::string_view(word).substr(slash + 1);
  const bool name =
      behind.empty() ||
      (IsNameCharacter(behind.front()) && std::all_of(behind.begin(), behind.end(), [](char c) {
         return IsNameCharacter(c) || c == '-' || c == '_' || c == '.';
       }));
  if (slash != std::string::npos && name && behind.size() <= kMostBehindSlash && slash <= 253 &&
      IsDnsSubdomain(std::string_view(word).substr(0, slash)))
    return std::nullopt;
  return base::MakeError(base::ErrorCode::kInvalid, "{} is no prefix of an annotation",
                         base::Quoted(word))
      .WithHint("a domain with a slash behind it, as cdi.k8s.io/");
}

// Only what is known to mean something is written, so that nobody counts on the rest.
std::optional<base::Error> Refusal(const PluginOption& option, const std::string& word) {
  for (const PluginOption::Refused& refused : option.refused) {
    if (refused.value == word)
      return base::MakeError(base::ErrorCode::kInvalid, "{} {}", base::Quoted(word), refused.why)
          .WithHint(refused.hint);
  }
  return std::nullopt;
}

// The scalars of a value that is a list, or one of them alone.
std::vector<const Node*> Items(const PluginOption& option, const Node& node, Problems& problems) {
  std::vector<const Node*> items;
  // A bare word is a list of one, but a bare number is no list of channels.
  if (node.IsScalar() && option.type != Type::kNumbers) return {&node};
  if (!ExpectList(node, problems, fmt::format("the values of \"{}\"", option.key))) return items;
  for (const Node& item : node.items) items.push_back(&item);
  return items;
}

}  // namespace

const PluginOption* FindPluginOption(std::string_view key) {
  for (const PluginOption& option : PluginOptions())
    if (!key.empty() && option.key == key) return &option;
  return nullptr;
}

bool IsList(const PluginOption& option) {
  return option.type == Type::kChoices || option.type == Type::kNumbers ||
         option.type == Type::kTexts;
}

std::vector<std::string> WordsOf(const PluginOption& option, std::string_view text) {
  std::vector<std::string> words;
  if (!IsList(option)) return {std::string(text)};
  if (base::Trim(text).empty()) return words;
  for (const std::string_view piece : base::Split(text, ',')) words.emplace_back(base::Trim(piece));
  return words;
}

std::optional<base::Error> WrongWord(const PluginOption& option, const std::string& word) {
  if (std::optional<base::Error> refusal = Refusal(option, word)) return refusal;
  switch (option.type) {
    case Type::kText:
    case Type::kTexts: return std::nullopt;
    case Type::kFlag:
      if (std::find(kSwitchWords.begin(), kSwitchWords.end(), word) != kSwitchWords.end())
        return std::nullopt;
      return Expected("true or false", word);
    case Type::kPath:
      if (word.empty() || word.starts_with('/')) return std::nullopt;
      return base::MakeError(base::ErrorCode::kInvalid, "{} is no absolute path",
                             base::Quoted(word))
          .WithHint("it begins with /");
    case Type::kChoice:
    case Type::kChoices: return WrongChoice(option, word);
    case Type::kNumbers:
      if (std::find(option.choices.begin(), option.choices.end(), word) != option.choices.end())
        return std::nullopt;
      return Expected(base::JoinWithOr(option.choices), word,
                      "it must be [] or [0]: no other channel is served");
    case Type::kDuration: return WrongDuration(word);
    case Type::kPrefix: return WrongPrefix(word);
  }
  return std::nullopt;
}

std::optional<std::vector<std::string>> ReadOption(const PluginOption& option,
                                                   const Node& node,
                                                   Problems& problems) {
  const std::size_t before = problems.size();
  if (option.type == Type::kFlag) {
    const std::optional<bool> value = ReadBool(node, problems);
    if (!value) return std::nullopt;
    return std::vector<std::string>{*value ? "true" : "false"};
  }
  std::vector<std::string> words;
  for (const Node* item :
       IsList(option) ? Items(option, node, problems) : std::vector<const Node*>{&node}) {
    std::optional<std::string> word = ReadString(*item, problems);
    if (!word) continue;
    if (const std::optional<base::Error> wrong = WrongWord(option, *word))
      problems.Add(*item, wrong->message(), wrong->hint());
    words.push_back(*std::move(word));
  }
  if (problems.size() != before) return std::nullopt;
  if (option.type == Type::kChoices && words.empty()) {
    problems.Add(node, fmt::format("\"{}\" is empty", option.key),
                 fmt::format("it needs at least one of {}", base::JoinWithOr(option.choices)));
    return std::nullopt;
  }
  return words;
}

}  // namespace partita::config
