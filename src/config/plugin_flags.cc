#include "config/plugin_flags.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "config/plugin_config_options.h"

namespace partita::config {
namespace {

using Type = PluginOption::Type;

// What is said of an option, with the flag or variable that says it.
struct Said {
  std::string value, where;
};
using SaidByOption = std::map<const PluginOption*, Said>;

using Options = std::span<const PluginOption>;

const PluginOption* FindFlag(Options options, std::string_view name) {
  for (const PluginOption& option : options) {
    if (std::find(option.flags.begin(), option.flags.end(), name) != option.flags.end())
      return &option;
  }
  return nullptr;
}

std::vector<std::string> FlagNames(Options options) {
  std::vector<std::string> names = {"help", "version"};
  for (const PluginOption& option : options)
    names.insert(names.end(), option.flags.begin(), option.flags.end());
  return names;
}

base::Error UnknownFlag(Options options, const std::string& name) {
  base::Error error =
      base::MakeError(base::ErrorCode::kInvalid, "flag provided but not defined: -{}", name);
  const std::string near = base::DidYouMean(name, FlagNames(options));
  if (near.empty()) return error;
  return std::move(error).WithHint(fmt::format("did you mean --{}?", near));
}

void Say(SaidByOption& said, const PluginOption& option, std::string value, std::string where) {
  const auto before = said.find(&option);
  if (before != said.end() && IsList(option)) value = before->second.value + "," + value;
  said.insert_or_assign(&option, Said{std::move(value), std::move(where)});
}

// The word at `at` and, where its value is the next word, that one.
base::Result<void> TakeFlag(Options options,
                            std::span<const std::string> words,
                            std::size_t& at,
                            FlagWords& flags,
                            SaidByOption& said) {
  const std::string_view word = words[at];
  const std::string_view bare = word.substr(word.starts_with("--") ? 2 : 1);
  const std::size_t equals = bare.find('=');
  const std::string name(bare.substr(0, equals));
  if (name == "help" || name == "h") {
    flags.help = true;
    return {};
  }
  if (name == "version" || name == "v") {
    flags.version = true;
    return {};
  }
  const PluginOption* option = FindFlag(options, name);
  if (option == nullptr) return UnknownFlag(options, name);
  const std::string where = "--" + name;
  if (equals != std::string_view::npos) {
    Say(said, *option, std::string(bare.substr(equals + 1)), where);
  } else if (option->type == Type::kFlag) {
    Say(said, *option, "true", where);
  } else if (at + 1 < words.size()) {
    Say(said, *option, words[++at], where);
  } else {
    return base::MakeError(base::ErrorCode::kInvalid, "flag needs an argument: -{}", name);
  }
  return {};
}

base::Result<void> TakeWords(Options options,
                             std::span<const std::string> words,
                             FlagWords& flags,
                             SaidByOption& said) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    // Go's reader stops at the first word that is no flag.
    if (word == "--" || word == "-" || !word.starts_with('-')) {
      const std::size_t rest = word == "--" ? at + 1 : at;
      flags.ignored.assign(words.begin() + static_cast<std::ptrdiff_t>(rest), words.end());
      if (!flags.ignored.empty() && (flags.ignored[0] == "help" || flags.ignored[0] == "h"))
        flags.help = true;
      return {};
    }
    TRY_VOID(TakeFlag(options, words, at, flags, said));
  }
  return {};
}

void TakeVariables(Options options, const Variables& variables, SaidByOption& said) {
  for (const PluginOption& option : options) {
    if (said.contains(&option)) continue;
    for (const std::string& name : option.variables) {
      std::optional<std::string> value = variables(name);
      if (!value) continue;
      if (option.type == Type::kFlag && value->empty()) value = "false";
      said.insert_or_assign(&option, Said{*std::move(value), name});
      break;
    }
  }
}

}  // namespace

base::Result<FlagWords> ReadFlagWords(Options options,
                                      std::span<const std::string> words,
                                      const Variables& variables) {
  FlagWords flags;
  SaidByOption said;
  TRY_VOID(TakeWords(options, words, flags, said));
  TakeVariables(options, variables, said);
  for (const PluginOption& option : options) {
    const auto found = said.find(&option);
    if (option.key.empty())
      flags.own[option.flags.front()] =
          found == said.end() ? option.reference_default : found->second.value;
    if (found == said.end()) continue;
    const Said& each = found->second;
    if (!option.key.empty()) {
      flags.overrides.push_back({option.key, each.value, each.where});
    } else if (std::optional<base::Error> wrong =
                   IsList(option) ? std::nullopt : WrongWord(option, each.value)) {
      return (*std::move(wrong)).Within(each.where);
    }
  }
  return flags;
}

base::Result<PluginFlags> ReadPluginFlags(std::span<const std::string> words,
                                          const Variables& variables) {
  const Options options = PluginOptions();
  TRY(read, ReadFlagWords(options, words, variables));
  const auto list = [&](const std::string& flag) {
    return WordsOf(*FindFlag(options, flag), read.own.at(flag));
  };
  return PluginFlags{.help = read.help,
                     .version = read.version,
                     .overrides = std::move(read.overrides),
                     .config_file = read.own.at("config-file"),
                     .kubelet_socket = read.own.at("kubelet-socket"),
                     .cdi_feature_flags = list("cdi-feature-flags"),
                     .cdi_disable_hooks = list("cdi-disable-hooks"),
                     .ignored = std::move(read.ignored)};
}

}  // namespace partita::config
