#include "config/named/named_configs.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace partita::config {
namespace {

constexpr std::string_view kOwnToKubernetes = "..";

bool IsThere(std::span<const std::string> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

base::Error NoSuchConfig(std::span<const std::string> available,
                         const Selection& selection,
                         const std::string& name) {
  base::Error error =
      base::MakeError(base::ErrorCode::kNotFound, "no configuration in {} is called {}",
                      selection.source, base::Quoted(name));
  if (const std::string near = base::DidYouMean(name, available); !near.empty())
    return std::move(error).WithHint(fmt::format("did you mean {}?", base::Quoted(near)));
  if (available.empty()) return std::move(error).WithHint("there is none at all");
  std::vector<std::string> names(available.begin(), available.end());
  return std::move(error).WithHint("there are: " + base::Join(names, ", "));
}

base::Error NothingChosen(std::span<const std::string> available, const Selection& selection) {
  const std::string hint = fmt::format("set the label {} of this node, or {}", selection.label_key,
                                       selection.default_key);
  if (available.empty())
    return base::MakeError(base::ErrorCode::kNotFound, "there is no configuration in {}",
                           selection.source)
        .WithHint("put one there");
  std::vector<std::string> names(available.begin(), available.end());
  return base::MakeError(base::ErrorCode::kNotFound,
                         "nothing says which configuration of {} is meant: {}", selection.source,
                         base::JoinWithOr(names))
      .WithHint(hint);
}

std::optional<Choice> FallBack(std::span<const std::string> available, Fallback fallback) {
  switch (fallback) {
    case Fallback::kNamed:
      if (!IsThere(available, kNamedDefault)) return std::nullopt;
      return Choice{std::string(kNamedDefault), ChosenBy::kNamed};
    case Fallback::kSingle:
      if (available.size() != 1) return std::nullopt;
      return Choice{available.front(), ChosenBy::kSingle};
    case Fallback::kEmpty: return Choice{"", ChosenBy::kEmpty};
  }
  return std::nullopt;
}

}  // namespace

const std::vector<std::string>& FallbackNames() {
  static const std::vector<std::string> names = {"named", "single", "empty"};
  return names;
}

base::Result<std::vector<Fallback>> ParseFallbacks(std::string_view words) {
  std::vector<Fallback> fallbacks;
  if (words.empty()) return fallbacks;
  for (const std::string_view word : base::Split(words, ',')) {
    const auto& names = FallbackNames();
    const auto found = std::find(names.begin(), names.end(), base::Trim(word));
    if (found == names.end())
      return base::MakeError(base::ErrorCode::kInvalid, "{} is no fallback strategy",
                             base::Quoted(word))
          .WithHint("known are " + base::Join(names, ", "));
    fallbacks.push_back(static_cast<Fallback>(found - names.begin()));
  }
  return fallbacks;
}

std::string_view ToString(ChosenBy by) {
  switch (by) {
    case ChosenBy::kLabel: return "label";
    case ChosenBy::kDefault: return "default";
    case ChosenBy::kNamed: return "fallback named";
    case ChosenBy::kSingle: return "fallback single";
    case ChosenBy::kEmpty: return "fallback empty";
    case ChosenBy::kNobody: return "nobody";
  }
  return "";
}

base::Result<Choice> Choose(std::span<const std::string> available, const Selection& selection) {
  if (!selection.label.empty()) {
    if (IsThere(available, selection.label)) return Choice{selection.label, ChosenBy::kLabel};
    return NoSuchConfig(available, selection, selection.label)
        .Within(fmt::format("node label {}", selection.label_key));
  }
  if (!selection.default_name.empty()) {
    if (IsThere(available, selection.default_name))
      return Choice{selection.default_name, ChosenBy::kDefault};
    base::Error error =
        NoSuchConfig(available, selection, selection.default_name).Within(selection.default_key);
    if (selection.default_where.empty()) return error;
    return std::move(error).Within(selection.default_where);
  }
  for (const Fallback fallback : selection.fallback)
    if (std::optional<Choice> choice = FallBack(available, fallback)) return *std::move(choice);
  if (available.empty() && selection.optional) return Choice{"", ChosenBy::kNobody};
  return NothingChosen(available, selection);
}

base::Result<std::vector<std::string>> ConfigNames(const std::string& folder) {
  TRY(names, base::ListDirectory(folder));
  std::erase_if(names, [&](const std::string& name) {
    if (name.starts_with(kOwnToKubernetes)) return true;
    struct stat about {};
    // What cannot be looked at is a name all the same: whoever selects it hears why.
    return stat(base::JoinPath(folder, name).c_str(), &about) == 0 && S_ISDIR(about.st_mode);
  });
  return names;
}

}  // namespace partita::config
