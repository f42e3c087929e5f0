// Completion scripts. Each walks the words typed so far to the command they reach, skipping values
// of options, and then offers that command's options and subcommands or an option's values.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/command_line.h"
#include "base/command_line_table.h"
#include "base/text.h"

namespace partita::base {
namespace {

// "partita-sim" as part of a shell function's name.
std::string Identifier(std::string_view name) {
  std::string out(name);
  std::replace_if(
      out.begin(), out.end(),
      [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'));
      },
      '_');
  return out;
}

std::string Replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t at = 0; (at = text.find(from)) != std::string_view::npos;) {
    out.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return out.append(text);
}

// 'text' for fish, which knows \' and \\ inside.
std::string FishQuoted(std::string_view text) {
  return "'" + Replaced(Replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

// An option's help for zsh's _arguments: brackets and colons have a meaning there.
std::string ZshText(std::string_view text) {
  std::string out = Replaced(text, "\\", "\\\\");
  for (const std::string_view special : {"[", "]", ":"}) {
    out = Replaced(out, special, "\\" + std::string(special));
  }
  return out;
}

std::vector<const Option*> AllOptions(const CommandPlace& place) {
  std::vector<const Option*> options;
  for (const Option& option : place.command->options) options.push_back(&option);
  options.insert(options.end(), place.inherited.begin(), place.inherited.end());
  return options;
}

// "mig/apply": how the scripts name a place.
std::string Key(const CommandPlace& place) { return Join(place.path, "/"); }

std::string Below(const std::string& key, const std::string& name) {
  return key.empty() ? name : fmt::format("{}/{}", key, name);
}

std::vector<std::string> Flags(const Option& option) {
  std::vector<std::string> flags = {"--" + option.name};
  if (option.letter != 0) flags.push_back(fmt::format("-{}", option.letter));
  return flags;
}

const std::vector<std::string>& OfferedValues(const Option& option) {
  return option.choices.empty() ? option.suggestions : option.choices;
}

bool IsFile(const Option& option) {
  return option.value_name == "FILE" || option.value_name == "PATH";
}
bool IsDirectory(const Option& option) { return option.value_name == "DIR"; }

std::vector<std::string> SubcommandNames(const CommandPlace& place) {
  std::vector<std::string> names;
  for (const Command& below : place.command->commands) {
    if (!below.hidden) names.push_back(below.name);
  }
  return names;
}

std::vector<std::string> OfferedFlags(const CommandPlace& place) {
  std::vector<std::string> flags;
  for (const Option* option : AllOptions(place)) {
    const std::vector<std::string> own = Flags(*option);
    flags.insert(flags.end(), own.begin(), own.end());
  }
  flags.insert(flags.end(), {"--help", "-h"});
  if (place.path.empty()) flags.emplace_back("--version");
  return flags;
}

// ---- bash ----

// The arms of the script's three `case` statements.
struct BashArms {
  std::string steps;   // place and word → the next place, or that the next word is a value
  std::string values;  // place and option → what its value can be
  std::string words;   // place → its subcommands and options
};

void AddBashValue(const std::string& key,
                  const Option& option,
                  const std::string& function,
                  BashArms& arms) {
  std::vector<std::string> patterns;
  for (const std::string& flag : Flags(option))
    patterns.push_back(fmt::format("'{}:{}'", key, flag));
  const std::string pattern = Join(patterns, "|");
  arms.steps += fmt::format("      {}) skip=1 ;;\n", pattern);
  std::string offer = "return";
  if (const std::vector<std::string>& values = OfferedValues(option); !values.empty())
    offer = fmt::format("{}_reply {}; return", function, ShellQuoted(Join(values, " ")));
  if (IsFile(option)) offer = "compopt -o default; return";
  if (IsDirectory(option)) offer = "compopt -o dirnames; return";
  arms.values += fmt::format("    {}) {} ;;\n", pattern, offer);
}

BashArms BashArmsOf(const Program& program, const std::string& function) {
  BashArms arms;
  for (const CommandPlace& place : VisibleCommands(program)) {
    const std::string key = Key(place);
    std::vector<std::string> offered = SubcommandNames(place);
    for (const std::string& name : offered) {
      arms.steps += fmt::format("      '{}:{}') at='{}' ;;\n", key, name, Below(key, name));
    }
    for (const Option* option : AllOptions(place)) {
      if (!option->value_name.empty()) AddBashValue(key, *option, function, arms);
    }
    for (const Argument& argument : place.command->arguments)
      offered.insert(offered.end(), argument.choices.begin(), argument.choices.end());
    arms.words +=
        fmt::format("    '{}') words={}; options={} ;;\n", key, ShellQuoted(Join(offered, " ")),
                    ShellQuoted(Join(OfferedFlags(place), " ")));
  }
  return arms;
}

std::string Bash(const Program& program) {
  const std::string function = "_" + Identifier(program.root.name);
  const BashArms arms = BashArmsOf(program, function);
  // COMP_WORDBREAKS splits "--output=js" into three words; `option` is the flag whose value is
  // typed.
  return fmt::format(R"(# bash completion for {0}
{1}() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" option="${{COMP_WORDS[COMP_CWORD-1]}}"
  local at='' word='' skip=0 i words='' options=''
  if [[ $cur == '=' ]]; then
    cur=''
  elif [[ $option == '=' ]]; then
    option="${{COMP_WORDS[COMP_CWORD-2]}}"
  fi
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${{COMP_WORDS[i]}}"
    if [[ $word == '=' ]]; then skip=1; continue; fi
    if ((skip)); then skip=0; continue; fi
    if [[ $word == '--' ]]; then compopt -o default; return; fi
    case "$at:$word" in
{2}    esac
  done
  case "$at:$option" in
{3}  esac
  case "$at" in
{4}  esac
  if [[ $cur == -* ]]; then
    {1}_reply "$options"
  elif [[ -n $words ]]; then
    {1}_reply "$words"
  else
    compopt -o default
  fi
}}

{1}_reply() {{
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
}}

complete -F {1} {0}
)",
                     program.root.name, function, arms.steps, arms.values, arms.words);
}

// ---- zsh ----

std::string ZshValue(const Option& option) {
  if (option.value_name.empty()) return "";
  std::string action;
  if (const std::vector<std::string>& values = OfferedValues(option); !values.empty())
    action = "(" + Join(values, " ") + ")";
  if (IsFile(option)) action = "_files";
  if (IsDirectory(option)) action = "_files -/";
  return fmt::format(":{}:{}", ZshText(option.value_name), action);
}

std::string ZshOption(const Option& option) {
  const std::string rest = fmt::format("[{}]{}", ZshText(option.help), ZshValue(option));
  const std::string equals = option.value_name.empty() ? "" : "=";
  if (option.letter == 0) {
    return ShellQuoted(
        fmt::format("{}--{}{}{}", option.repeatable ? "*" : "", option.name, equals, rest));
  }
  const std::string exclusion =
      option.repeatable ? "'*'" : fmt::format("'(-{0} --{1})'", option.letter, option.name);
  const std::string plus = option.value_name.empty() ? "" : "+";
  return fmt::format("{}{{-{}{},--{}{}}}{}", exclusion, option.letter, plus, option.name, equals,
                     ShellQuoted(rest));
}

std::string ZshArguments(const CommandPlace& place) {
  std::string text;
  for (const Argument& argument : place.command->arguments) {
    const std::string action =
        argument.choices.empty() ? "_files" : "(" + Join(argument.choices, " ") + ")";
    const std::string spec =
        fmt::format("{}{}{}:{}", argument.repeatable ? "*" : "",
                    argument.required ? ":" : "::", ZshText(argument.name), action);
    text += " \\\n    " + ShellQuoted(spec);
  }
  if (place.command->takes_rest) text += " \\\n    '*:::command:_normal'";
  return text;
}

std::string ZshFunctionName(const Program& program, const CommandPlace& place) {
  std::string name = "_" + Identifier(program.root.name);
  for (const std::string& word : place.path) name += "_" + Identifier(word);
  return name;
}

std::string ZshFunction(const Program& program, const CommandPlace& place) {
  const std::string function = ZshFunctionName(program, place);
  std::string text = function + "() {\n";
  const std::vector<std::string> names = SubcommandNames(place);
  if (!names.empty())
    text += "  local curcontext=\"$curcontext\" state line\n  typeset -A opt_args\n";
  text += names.empty() ? "  _arguments -s" : "  _arguments -s -C";
  for (const Option* option : AllOptions(place)) text += " \\\n    " + ZshOption(*option);
  text += " \\\n    '(-h --help)'{-h,--help}'[show help]'";
  if (place.path.empty()) text += " \\\n    '--version[show the version]'";
  if (names.empty()) return text + ZshArguments(place) + "\n}\n\n";
  text += " \\\n    '1: :->command' \\\n    '*:: :->rest'\n  case $state in\n    command)\n";
  text += "      local -a commands=(\n";
  for (const Command& below : place.command->commands) {
    if (below.hidden) continue;
    text += fmt::format("        {}\n",
                        ShellQuoted(below.name + ":" + Replaced(below.summary, ":", "\\:")));
  }
  text += fmt::format(
      "      )\n      _describe -t commands 'command' commands ;;\n    rest)\n"
      "      case $words[1] in\n");
  for (const std::string& name : names) {
    text += fmt::format("        {0}) {1}_{2} ;;\n", name, function, Identifier(name));
  }
  return text + "      esac ;;\n  esac\n}\n\n";
}

std::string Zsh(const Program& program) {
  std::string text = fmt::format("#compdef {}\n\n", program.root.name);
  for (const CommandPlace& place : VisibleCommands(program)) text += ZshFunction(program, place);
  // Read from $fpath the file is the function's body; sourced, it has to register itself.
  const std::string function = "_" + Identifier(program.root.name);
  return text + fmt::format(
                    "if [ \"$funcstack[1]\" = {0} ]; then\n  {0} \"$@\"\nelse\n"
                    "  compdef {0} {1}\nfi\n",
                    function, program.root.name);
}

// ---- fish ----

std::string FishWalk(const Program& program, const std::vector<CommandPlace>& places) {
  std::string cases;
  for (const CommandPlace& place : places) {
    const std::string key = Key(place);
    for (const std::string& name : SubcommandNames(place)) {
      cases += fmt::format("            case '{}:{}'\n                set at '{}'\n", key, name,
                           Below(key, name));
    }
    for (const Option* option : AllOptions(place)) {
      if (option->value_name.empty()) continue;
      std::string patterns;
      for (const std::string& flag : Flags(*option)) patterns += fmt::format(" '{}:{}'", key, flag);
      cases += fmt::format("            case{}\n                set skip 1\n", patterns);
    }
  }
  return fmt::format(R"(function __{0}_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l at ''
    set -l skip 0
    for word in $words
        if test $skip = 1
            set skip 0
            continue
        end
        if test "$word" = --
            set at '--'
            break
        end
        switch "$at:$word"
{1}        end
    end
    test "$at" = "$argv[1]"
end

)",
                     Identifier(program.root.name), cases);
}

std::string FishOption(std::string_view prefix, const Option& option) {
  std::string line = fmt::format("{} -l {}", prefix, option.name);
  if (option.letter != 0) line += fmt::format(" -s {}", option.letter);
  if (!option.value_name.empty()) {
    if (IsFile(option)) {
      line += " -r -F";
    } else if (IsDirectory(option)) {
      line += " -x -a '(__fish_complete_directories)'";
    } else {
      line += " -x";
      if (const std::vector<std::string>& values = OfferedValues(option); !values.empty())
        line += " -a " + FishQuoted(Join(values, " "));
    }
  }
  return fmt::format("{} -d {}\n", line, FishQuoted(option.help));
}

std::string Fish(const Program& program) {
  const std::vector<CommandPlace> places = VisibleCommands(program);
  std::string text =
      fmt::format("# fish completion for {}\n", program.root.name) + FishWalk(program, places);
  for (const CommandPlace& place : places) {
    const std::string prefix = fmt::format("complete -c {} -n \"__{}_at '{}'\"", program.root.name,
                                           Identifier(program.root.name), Key(place));
    for (const Command& below : place.command->commands) {
      if (below.hidden) continue;
      text += fmt::format("{} -f -a {} -d {}\n", prefix, below.name, FishQuoted(below.summary));
    }
    for (const Argument& argument : place.command->arguments) {
      if (!argument.choices.empty())
        text += fmt::format("{} -f -a {}\n", prefix, FishQuoted(Join(argument.choices, " ")));
    }
    for (const Option* option : AllOptions(place)) text += FishOption(prefix, *option);
    text += FishOption(prefix, {.name = "help", .letter = 'h', .help = "show help"});
    if (place.path.empty())
      text += FishOption(prefix, {.name = "version", .help = "show the version"});
  }
  return text;
}

}  // namespace

std::string Completion(const Program& program, std::string_view shell) {
  if (shell == "bash") return Bash(program);
  if (shell == "zsh") return Zsh(program);
  if (shell == "fish") return Fish(program);
  return "";
}

}  // namespace partita::base
