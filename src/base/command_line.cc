#include "base/command_line.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/characters.h"
#include "base/text.h"

namespace partita::base {
namespace {

const Command* FindCommand(const Command& command, std::string_view name) {
  const auto found = std::find_if(command.commands.begin(), command.commands.end(),
                                  [&](const Command& each) { return each.name == name; });
  return found == command.commands.end() ? nullptr : &*found;
}

// The full name of the first command below this one that has the option.
std::string OwnerBelow(const Command& command, std::string_view option, std::string_view path) {
  for (const Command& below : command.commands) {
    std::string name = fmt::format("{} {}", path, below.name);
    const bool own = std::any_of(below.options.begin(), below.options.end(),
                                 [&](const Option& each) { return "--" + each.name == option; });
    if (own) return name;
    std::string deeper = OwnerBelow(below, option, name);
    if (!deeper.empty()) return deeper;
  }
  return "";
}

constexpr std::array<std::string_view, 4> kOn = {"1", "true", "yes", "on"};
constexpr std::array<std::string_view, 4> kOff = {"0", "false", "no", "off"};

std::optional<bool> ParseSwitch(std::string_view text) {
  const std::string word = ToLower(text);
  if (std::find(kOn.begin(), kOn.end(), word) != kOn.end()) return true;
  if (std::find(kOff.begin(), kOff.end(), word) != kOff.end()) return false;
  return std::nullopt;
}

}  // namespace

// Walks the words once, from left to right. `chain_` is the way from the root to the command that
// the words have reached; its options are the ones that are known.
class CommandLineParser {
 public:
  CommandLineParser(const Program& program,
                    std::span<const std::string> words,
                    const Environment& environment)
      : program_(program), words_(words), environment_(environment), chain_{&program.root} {}

  Result<Parsed> Run() {
    while (next_ < words_.size() && !done_) TRY_VOID(Step(words_[next_++]));
    if (kind_ == Parsed::Kind::kRun) TRY_VOID(Complete());
    return Parsed{kind_, std::move(invocation_), chain_.back()};
  }

 private:
  const Command& command() const { return *chain_.back(); }

  std::string CommandName() const {
    std::string name = program_.root.name;
    for (const std::string& word : invocation_.path_) name += " " + word;
    return name;
  }

  Error UsageError(std::string message, std::string suggestion = "") const {
    if (!suggestion.empty()) suggestion += '\n';
    return Error(ErrorCode::kInvalid, std::move(message))
        .WithHint(fmt::format("{}\"{} --help\" says what it takes", suggestion, CommandName()));
  }

  Result<void> Step(const std::string& word) {
    if (word == "--") {
      EndOptions();
      return {};
    }
    if (word == "--help" || word == "-h") {
      FinishHelp();
      return {};
    }
    if (word == "--version" && chain_.size() == 1 && !FindOption("version")) {
      kind_ = Parsed::Kind::kVersion;
      done_ = true;
      return {};
    }
    if (word.starts_with("--")) return LongOption(word);
    if (word.size() > 1 && word[0] == '-') return ShortOptions(word);
    return Positional(word);
  }

  // The help of the deepest command named, before or after --help.
  void FinishHelp() {
    kind_ = Parsed::Kind::kHelp;
    done_ = true;
    for (; next_ < words_.size(); ++next_) {
      const Command* below = FindCommand(command(), words_[next_]);
      if (below == nullptr) return;
      Descend(*below);
    }
  }

  void Descend(const Command& below) {
    chain_.push_back(&below);
    invocation_.path_.push_back(below.name);
  }

  void EndOptions() {
    std::vector<std::string>& rest =
        command().takes_rest ? invocation_.rest_ : invocation_.arguments_;
    rest.insert(rest.end(), words_.begin() + static_cast<std::ptrdiff_t>(next_), words_.end());
    done_ = true;
  }

  const Option* FindOption(std::string_view name) const {
    for (auto each = chain_.rbegin(); each != chain_.rend(); ++each) {
      for (const Option& option : (*each)->options) {
        if (option.name == name) return &option;
      }
    }
    return nullptr;
  }

  const Option* FindLetter(char letter) const {
    for (auto each = chain_.rbegin(); each != chain_.rend(); ++each) {
      for (const Option& option : (*each)->options) {
        if (option.letter == letter) return &option;
      }
    }
    return nullptr;
  }

  Error UnknownOption(const std::string& word) const {
    std::vector<std::string> known = {"--help"};
    if (chain_.size() == 1) known.emplace_back("--version");
    for (const Command* each : chain_) {
      for (const Option& option : each->options) known.push_back("--" + option.name);
    }
    std::string suggestion;
    const std::string owner = OwnerBelow(command(), word, CommandName());
    if (!owner.empty()) {
      suggestion = fmt::format("it is an option of \"{}\": write it after the command", owner);
    } else if (const std::string near = DidYouMean(word, known); !near.empty()) {
      suggestion = fmt::format("did you mean \"{}\"?", near);
    }
    return UsageError(fmt::format("unknown option {}", Quoted(word)), std::move(suggestion));
  }

  Result<void> LongOption(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const Option* option = FindOption(std::string_view(name).substr(2));
    if (option == nullptr) return UnknownOption(name);
    if (option->value_name.empty()) {
      if (equals != std::string::npos)
        return UsageError(fmt::format("option {} takes no value", name));
      return Store(*option, "", name);
    }
    if (equals != std::string::npos) return Store(*option, word.substr(equals + 1), name);
    return StoreNext(*option, name);
  }

  // -abc is -a -b -c while these are switches; the first that takes a value takes what follows it.
  Result<void> ShortOptions(const std::string& word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const std::string name = {'-', word[i]};
      if (word[i] == 'h') {
        FinishHelp();
        return {};
      }
      const Option* option = FindLetter(word[i]);
      if (option == nullptr) return UnknownOption(name);
      if (option->value_name.empty()) {
        TRY_VOID(Store(*option, "", name));
        continue;
      }
      std::string value = word.substr(i + 1);
      if (value.empty()) return StoreNext(*option, name);
      if (value.starts_with('=')) value.erase(0, 1);
      return Store(*option, std::move(value), name);
    }
    return {};
  }

  Result<void> StoreNext(const Option& option, const std::string& name) {
    if (next_ == words_.size())
      return UsageError(fmt::format("option {} needs a value: {}", name, option.value_name));
    return Store(option, words_[next_++], name);
  }

  // `name` is how the option was given, for messages: "--output", "-o".
  Result<void> Store(const Option& option, std::string value, const std::string& name) {
    Invocation::Setting& setting = invocation_.settings_[option.name];
    if (setting.given && !option.repeatable)
      return UsageError(fmt::format("option {} is given twice", name));
    if (!option.value_name.empty()) TRY_VOID(CheckChoice(option.choices, value, "option " + name));
    setting.given = true;
    setting.values.push_back(std::move(value));
    return {};
  }

  // `where` names the option, variable or argument: "option -o".
  Result<void> CheckChoice(const std::vector<std::string>& choices,
                           const std::string& value,
                           const std::string& where) const {
    if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end())
      return {};
    const std::string near = DidYouMean(value, choices);
    return UsageError(fmt::format("{} takes {}, not {}", where, JoinWithOr(choices), Quoted(value)),
                      near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
  }

  Result<void> Positional(const std::string& word) {
    if (const Command* below =
            invocation_.arguments_.empty() ? FindCommand(command(), word) : nullptr) {
      Descend(*below);
      return {};
    }
    if (word == "help" && chain_.size() == 1 && !program_.root.commands.empty()) {
      FinishHelp();
      return {};
    }
    const std::vector<Argument>& declared = command().arguments;
    const bool endless = !declared.empty() && declared.back().repeatable;
    if (endless || invocation_.arguments_.size() < declared.size()) {
      invocation_.arguments_.push_back(word);
      return {};
    }
    if (command().takes_rest) {
      --next_;
      EndOptions();
      return {};
    }
    if (command().commands.empty())
      return UsageError(fmt::format("unexpected argument {}", Quoted(word)));
    return UnknownCommand(word);
  }

  Error UnknownCommand(const std::string& word) const {
    std::vector<std::string> names;
    for (const Command& each : command().commands) {
      if (!each.hidden) names.push_back(each.name);
    }
    const std::string near = DidYouMean(word, names);
    return UsageError(fmt::format("unknown command {}", Quoted(word)),
                      near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
  }

  // What was not said on the command line: environment, defaults, and what is still missing.
  Result<void> Complete() {
    if (!command().run) return UsageError("no command given");
    for (const Command* each : chain_) {
      for (const Option& option : each->options) TRY_VOID(CompleteOption(option));
    }
    return CheckArguments();
  }

  Result<void> CheckArguments() const {
    const std::vector<Argument>& declared = command().arguments;
    const std::vector<std::string>& given = invocation_.arguments_;
    for (std::size_t i = given.size(); i < declared.size(); ++i) {
      if (declared[i].required)
        return UsageError(fmt::format("missing argument {}", declared[i].name));
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      const bool endless = !declared.empty() && declared.back().repeatable;
      if (i >= declared.size() && !endless)
        return UsageError(fmt::format("unexpected argument {}", Quoted(given[i])));
      const Argument& argument = declared[std::min(i, declared.size() - 1)];
      TRY_VOID(CheckChoice(argument.choices, given[i], argument.name));
    }
    return {};
  }

  Result<void> CompleteOption(const Option& option) {
    Invocation::Setting& setting = invocation_.settings_[option.name];
    if (setting.given) return {};
    std::optional<std::string> value;
    if (!option.environment.empty()) value = environment_(option.environment);
    if (value && !value->empty()) {
      if (option.value_name.empty()) {
        const std::optional<bool> on = ParseSwitch(*value);
        if (!on)
          return UsageError(fmt::format("environment variable {} takes true or false, not {}",
                                        option.environment, Quoted(*value)));
        setting.given = *on;
        return {};
      }
      TRY_VOID(CheckChoice(option.choices, *value, "environment variable " + option.environment));
      setting.given = setting.from_environment = true;
      setting.values.push_back(*std::move(value));
      return {};
    }
    if (option.required) {
      return UsageError(fmt::format("missing option --{} {}", option.name, option.value_name));
    }
    if (!option.default_value.empty()) setting.values.push_back(option.default_value);
    return {};
  }

  const Program& program_;
  std::span<const std::string> words_;
  const Environment& environment_;
  std::vector<const Command*> chain_;
  Invocation invocation_;
  Parsed::Kind kind_ = Parsed::Kind::kRun;
  std::size_t next_ = 0;
  bool done_ = false;
};

std::optional<std::string> Invocation::Get(std::string_view name) const {
  const auto found = settings_.find(name);
  if (found == settings_.end() || found->second.values.empty()) return std::nullopt;
  return found->second.values.back();
}

bool Invocation::Has(std::string_view name) const {
  const auto found = settings_.find(name);
  return found != settings_.end() && found->second.given;
}

bool Invocation::FromEnvironment(std::string_view name) const {
  const auto found = settings_.find(name);
  return found != settings_.end() && found->second.from_environment;
}

std::vector<std::string> Invocation::GetAll(std::string_view name) const {
  const auto found = settings_.find(name);
  return found == settings_.end() ? std::vector<std::string>() : found->second.values;
}

Result<Parsed> ParseCommandLine(const Program& program,
                                std::span<const std::string> words,
                                const Environment& environment) {
  return CommandLineParser(program, words, environment).Run();
}

std::string ErrorText(std::string_view program, const Error& error) {
  std::string text = fmt::format("{}: {}\n", program, error.ToString());
  for (const std::string_view line : SplitLines(error.hint())) {
    text += fmt::format("  {}\n", line);
  }
  return Printable(text, "\n\t");
}

namespace {

int Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

int RunParsed(const Program& program, const Parsed& parsed) {
  switch (parsed.kind) {
    case Parsed::Kind::kHelp: return Print(HelpText(program, parsed.invocation.path()));
    case Parsed::Kind::kVersion:
      return Print(fmt::format("{} {}\n", program.root.name, program.version));
    case Parsed::Kind::kRun: return parsed.command->run(parsed.invocation);
  }
  return 1;
}

}  // namespace

int Main(const Program& program, int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
  const Result<Parsed> parsed = ParseCommandLine(program, words, environment);
  if (!parsed.ok()) {
    std::fputs(ErrorText(program.root.name, parsed.error()).c_str(), stderr);
    return 2;
  }
  const int status = RunParsed(program, *parsed);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    const Error error = ErrnoError("write to standard output");
    std::fputs(ErrorText(program.root.name, error).c_str(), stderr);
    return status == 0 ? 1 : status;
  }
  return status;
}

}  // namespace partita::base
