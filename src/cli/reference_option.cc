#include "cli/reference_option.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::cli {
namespace {

using config::PluginOption;

std::string ValueName(const PluginOption& option) {
  switch (option.type) {
    case PluginOption::Type::kFlag: return "";
    case PluginOption::Type::kPath: return "PATH";
    case PluginOption::Type::kNumbers: return "NUMBERS";
    case PluginOption::Type::kTexts:
    case PluginOption::Type::kChoices: return "LIST";
    case PluginOption::Type::kText:
    case PluginOption::Type::kChoice:
    case PluginOption::Type::kDuration:
    case PluginOption::Type::kPrefix: break;
  }
  return "VALUE";
}

std::string HelpOf(const PluginOption& option) {
  std::vector<std::string> others;
  for (std::size_t i = 1; i < option.flags.size(); ++i)
    if (option.flags[i].size() > 1) others.push_back("--" + option.flags[i]);
  for (std::size_t i = 1; i < option.variables.size(); ++i) others.push_back(option.variables[i]);
  return others.empty() ? option.help
                        : fmt::format("{}; also {}", option.help, base::Join(others, ", "));
}

}  // namespace

base::Option ReferenceOption(const PluginOption& option) {
  const bool is_switch = option.type == PluginOption::Type::kFlag;
  const bool one_of = option.type == PluginOption::Type::kChoice;
  const auto letter = std::find_if(option.flags.begin(), option.flags.end(),
                                   [](const std::string& flag) { return flag.size() == 1; });
  return {.name = option.flags.front(),
          .letter = letter == option.flags.end() ? '\0' : letter->front(),
          .value_name = ValueName(option),
          .help = HelpOf(option),
          .environment = option.variables.front(),
          .choices = one_of ? option.choices : std::vector<std::string>(),
          .suggestions = one_of ? std::vector<std::string>() : option.choices,
          .default_value = is_switch ? "" : option.reference_default,
          .repeatable = config::IsList(option)};
}

}  // namespace partita::cli
