// --help and the man page, from the same table that is parsed.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/command_line.h"
#include "base/command_line_table.h"
#include "base/text.h"

namespace partita::base {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kWidestTerm = 30;

struct Row {
  std::string term;
  std::string meaning;
};

// Terms on the left, what they mean beside them; a long term gets a line of its own.
std::string Table(std::string_view title, const std::vector<Row>& rows) {
  if (rows.empty()) return "";
  std::size_t widest = 0;
  for (const Row& row : rows) {
    const std::size_t width = CountCharacters(row.term);
    if (width <= kWidestTerm) widest = std::max(widest, width);
  }
  const std::size_t indent = widest + 4;
  std::string text = fmt::format("\n{}:\n", title);
  for (const Row& row : rows) {
    const std::size_t width = CountCharacters(row.term);
    text += "  " + row.term;
    text +=
        width <= widest ? std::string(indent - 2 - width, ' ') : "\n" + std::string(indent, ' ');
    const std::string wrapped = Wrap(std::string(indent, '.') + row.meaning, kWidth, indent);
    text += wrapped.substr(indent) + '\n';
  }
  return text;
}

std::string OptionTerm(const Option& option) {
  std::string term = option.letter != 0 ? fmt::format("-{}, --{}", option.letter, option.name)
                                        : "    --" + option.name;
  if (!option.value_name.empty()) term += " " + option.value_name;
  return term;
}

std::vector<Row> OptionRows(const std::vector<Option>& options) {
  std::vector<Row> rows;
  rows.reserve(options.size() + 2);
  for (const Option& option : options) rows.push_back({OptionTerm(option), OptionMeaning(option)});
  return rows;
}

std::string ArgumentForm(const Argument& argument) {
  std::string form = argument.name + (argument.repeatable ? "..." : "");
  return argument.required ? form : "[" + form + "]";
}

std::string ArgumentMeaning(const Argument& argument) {
  if (argument.choices.empty()) return argument.help;
  return fmt::format("{} ({})", argument.help, JoinWithOr(argument.choices));
}

std::vector<Row> CommandRows(const Command& command) {
  std::vector<Row> rows;
  for (const Command& below : command.commands) {
    if (!below.hidden) rows.push_back({below.name, below.summary});
  }
  return rows;
}

std::vector<Row> ArgumentRows(const Command& command) {
  std::vector<Row> rows;
  for (const Argument& argument : command.arguments)
    rows.push_back({argument.name, ArgumentMeaning(argument)});
  return rows;
}

std::string Examples(const std::vector<Example>& examples) {
  if (examples.empty()) return "";
  std::string text = "\nExamples:\n";
  for (const Example& example : examples) {
    text += fmt::format("  {}\n", example.command);
    if (example.meaning.empty()) continue;
    text += fmt::format("      {}\n", Wrap("......" + example.meaning, kWidth, 6).substr(6));
  }
  return text;
}

// What only the root's help shows.
std::string ProgramNotes(const Program& program) {
  std::vector<Row> variables;
  for (const auto& [name, meaning] : program.environment) variables.push_back({name, meaning});
  std::vector<Row> statuses;
  for (const ExitStatus& status : program.exit_statuses)
    statuses.push_back({fmt::format("{}", status.code), status.meaning});
  std::string text = Table("Environment", variables) + Table("Exit status", statuses);
  if (!program.root.commands.empty()) {
    text += fmt::format("\n\"{} COMMAND --help\" explains a command.\n", program.root.name);
  }
  return text;
}

// Text for a man page: roff's own characters made harmless.
std::string Roff(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_start = c == '\n';
  }
  return out;
}

// Paragraphs are separated by empty lines in our texts.
std::string RoffParagraphs(std::string_view text) {
  std::string out;
  for (const std::string_view line : SplitLines(text)) {
    out += line.empty() ? ".PP\n" : Roff(line) + '\n';
  }
  return out;
}

std::string RoffOptions(const std::vector<Option>& options) {
  std::string out;
  for (const Option& option : options) {
    out += ".TP\n";
    if (option.letter != 0) out += fmt::format("\\fB\\-{}\\fR, ", option.letter);
    out += fmt::format("\\fB\\-\\-{}\\fR", Roff(option.name));
    if (!option.value_name.empty()) out += fmt::format(" \\fI{}\\fR", Roff(option.value_name));
    out += '\n' + Roff(OptionMeaning(option)) + '\n';
  }
  return out;
}

std::string RoffExamples(const std::vector<Example>& examples) {
  std::string out;
  for (const Example& example : examples) {
    if (!example.meaning.empty()) out += fmt::format(".PP\n{}:\n", Roff(example.meaning));
    out += fmt::format(".PP\n.in +4\n.nf\n{}\n.fi\n.in\n", Roff(example.command));
  }
  return out;
}

std::string RoffCommand(const CommandPlace& place) {
  const Command& command = *place.command;
  std::string out = fmt::format(".SS {}\n", Roff(UsageLine(place)));
  out += command.description.empty() ? Roff(command.summary) + ".\n"
                                     : RoffParagraphs(command.description);
  for (const Argument& argument : command.arguments) {
    out +=
        fmt::format(".TP\n\\fI{}\\fR\n{}\n", Roff(argument.name), Roff(ArgumentMeaning(argument)));
  }
  return out + RoffOptions(command.options) + RoffExamples(command.examples);
}

}  // namespace

std::string OptionMeaning(const Option& option) {
  std::vector<std::string> notes;
  if (!option.choices.empty()) notes.push_back(JoinWithOr(option.choices));
  if (!option.default_value.empty()) notes.push_back("default " + option.default_value);
  if (!option.environment.empty()) notes.push_back("environment " + option.environment);
  if (option.repeatable) notes.emplace_back("can be given several times");
  if (option.required) notes.emplace_back("required");
  return notes.empty() ? option.help : fmt::format("{} ({})", option.help, Join(notes, "; "));
}

std::string UsageLine(const CommandPlace& place) {
  const Command& command = *place.command;
  std::string line = place.name + " [OPTIONS]";
  if (!command.commands.empty()) line += command.run ? " [COMMAND]" : " COMMAND";
  for (const Argument& argument : command.arguments) line += " " + ArgumentForm(argument);
  if (command.takes_rest)
    line += fmt::format(" [--] {}...", command.rest_name.empty() ? "COMMAND" : command.rest_name);
  return line;
}

std::vector<CommandPlace> VisibleCommands(const Program& program) {
  std::vector<CommandPlace> places = {{&program.root, program.root.name, {}, {}}};
  // The list grows while it is walked: children follow their parent directly, depth first.
  for (std::size_t i = 0; i < places.size(); ++i) {
    const CommandPlace place = places[i];
    std::vector<const Option*> inherited = place.inherited;
    for (const Option& option : place.command->options) inherited.push_back(&option);
    std::size_t at = i + 1;
    for (const Command& below : place.command->commands) {
      if (below.hidden) continue;
      std::vector<std::string> path = place.path;
      path.push_back(below.name);
      places.insert(places.begin() + static_cast<std::ptrdiff_t>(at++),
                    {&below, place.name + " " + below.name, std::move(path), inherited});
    }
  }
  return places;
}

std::string HelpText(const Program& program, std::span<const std::string> path) {
  CommandPlace place{&program.root, program.root.name, {}, {}};
  for (const std::string& name : path) {
    const auto below = std::find_if(place.command->commands.begin(), place.command->commands.end(),
                                    [&](const Command& each) { return each.name == name; });
    if (below == place.command->commands.end()) break;
    for (const Option& option : place.command->options) place.inherited.push_back(&option);
    place.name += " " + name;
    place.command = &*below;
  }
  const Command& command = *place.command;
  std::string text =
      fmt::format("{} - {}\n\nUsage: {}\n", place.name, command.summary, UsageLine(place));
  if (!command.description.empty()) text += '\n' + Wrap(command.description, kWidth) + '\n';
  text += Table("Commands", CommandRows(command)) + Table("Arguments", ArgumentRows(command));
  std::vector<Row> rows = OptionRows(command.options);
  rows.push_back({"-h, --help", "show this help"});
  if (path.empty()) rows.push_back({"    --version", "show the version"});
  text += Table("Options", rows);
  std::vector<Row> inherited;
  for (const Option* option : place.inherited)
    inherited.push_back({OptionTerm(*option), OptionMeaning(*option)});
  text += Table("Global options", inherited) + Examples(command.examples);
  if (path.empty()) text += ProgramNotes(program);
  return text;
}

std::string ManPage(const Program& program) {
  const Command& root = program.root;
  std::string upper = root.name;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  std::string out = fmt::format(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n", Roff(upper),
                                Roff(root.name), Roff(program.version));
  const std::vector<CommandPlace> places = VisibleCommands(program);
  out += fmt::format(".SH NAME\n{} \\- {}\n", Roff(root.name), Roff(root.summary));
  out += fmt::format(".SH SYNOPSIS\n{}\n", Roff(UsageLine(places.front())));
  if (!root.description.empty()) out += ".SH DESCRIPTION\n" + RoffParagraphs(root.description);
  out += ".SH OPTIONS\n" + RoffOptions(root.options);
  out += ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nshow help; every command takes it\n";
  out += ".TP\n\\fB\\-\\-version\\fR\nshow the version\n";
  if (places.size() > 1) out += ".SH COMMANDS\n";
  for (std::size_t i = 1; i < places.size(); ++i) out += RoffCommand(places[i]);
  if (!root.examples.empty()) out += ".SH EXAMPLES\n" + RoffExamples(root.examples);
  if (!program.environment.empty()) out += ".SH ENVIRONMENT\n";
  for (const auto& [name, meaning] : program.environment)
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", Roff(name), Roff(meaning));
  if (!program.exit_statuses.empty()) out += ".SH EXIT STATUS\n";
  for (const ExitStatus& status : program.exit_statuses)
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", status.code, Roff(status.meaning));
  return out;
}

}  // namespace partita::base
