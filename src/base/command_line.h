// One table per program, from which parsing, help, shell completion and the man page all come.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace partita::base {

class Invocation;

// Every field has a value, so that a table row names only what it sets.
struct Option {
  std::string name{};         // "output": given as --output
  char letter = 0;            // 'o': also given as -o
  std::string value_name{};   // "FORMAT"; empty: a switch. FILE and DIR are completed as such.
  std::string help{};         // one sentence without a full stop
  std::string environment{};  // used when the flag is absent; for a switch: 1, true, yes, on or
                              // their opposites; empty counts as absent
  std::vector<std::string> choices{};
  std::vector<std::string> suggestions{};  // completed, where others are accepted too
  std::string default_value{};
  bool repeatable = false;  // else giving it twice is an error
  bool required = false;
};

struct Argument {
  std::string name{};  // "NODE"
  std::string help{};
  bool required = true;
  bool repeatable = false;  // only the last one can be
  std::vector<std::string> choices{};
};

struct Example {
  std::string command{};
  std::string meaning{};
};

struct Command {
  std::string name{};
  std::string summary{};          // one line for the list above it
  std::string description{};      // paragraphs, wrapped when shown
  std::vector<Option> options{};  // accepted by this command and all below it
  std::vector<Argument> arguments{};
  std::vector<Example> examples{};
  std::vector<Command> commands{};
  // Everything after `--`, or from the first word after the declared arguments on, is handed over
  // unread, as for `run -- CMD…`.
  bool takes_rest = false;
  std::string rest_name{};  // "COMMAND"
  bool hidden = false;      // works, but is not listed
  // Returns the exit status. Empty: the command needs one of its subcommands.
  std::function<int(const Invocation&)> run{};
};

struct ExitStatus {
  int code;
  std::string meaning{};
};

struct Program {
  Command root{};
  std::string version{};
  std::vector<ExitStatus> exit_statuses{};
  std::vector<std::pair<std::string, std::string>> environment{};  // name, meaning
};

// A command line that was understood.
class Invocation {
 public:
  // The value by flag, else environment, else default. Nothing when there is none of them.
  [[nodiscard]] std::optional<std::string> Get(std::string_view name) const;
  // Whether it was given, by flag or environment. For a switch: whether it is on.
  [[nodiscard]] bool Has(std::string_view name) const;
  // Whether the value is that of its environment variable, since the flag is absent.
  [[nodiscard]] bool FromEnvironment(std::string_view name) const;
  // Every value of a repeatable option, in order.
  [[nodiscard]] std::vector<std::string> GetAll(std::string_view name) const;

  [[nodiscard]] const std::vector<std::string>& arguments() const { return arguments_; }
  [[nodiscard]] const std::vector<std::string>& rest() const { return rest_; }
  // The names below the program: {"mig", "apply"}.
  [[nodiscard]] const std::vector<std::string>& path() const { return path_; }

 private:
  friend class CommandLineParser;
  struct Setting {
    std::vector<std::string> values;
    bool given = false;  // not merely the default
    bool from_environment = false;
  };
  std::map<std::string, Setting, std::less<>> settings_;
  std::vector<std::string> arguments_;
  std::vector<std::string> rest_;
  std::vector<std::string> path_;
};

// What a command line asks for.
struct Parsed {
  enum class Kind { kRun, kHelp, kVersion } kind = Kind::kRun;
  Invocation invocation;             // for kHelp only the path counts
  const Command* command = nullptr;  // inside the Program
};

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// Reads the words after the program's name. Errors are kInvalid, say which command's help to read
// in their hint, and suggest the word that was probably meant.
[[nodiscard]] Result<Parsed> ParseCommandLine(const Program& program,
                                              std::span<const std::string> words,
                                              const Environment& environment);

// How every program of the project reports an error: `program: error`, then each line of the hint.
[[nodiscard]] std::string ErrorText(std::string_view program, const Error& error);

// Parses, prints help (standard output, status 0), the version or a usage error (standard error,
// status 2), or runs the command and returns its status. Output that could not be written is an
// error (status 1), however the command ended.
int Main(const Program& program, int argc, char** argv);

// The path names a command below the root; empty for the root itself.
[[nodiscard]] std::string HelpText(const Program& program, std::span<const std::string> path);
// man(7) source, all commands on one page.
[[nodiscard]] std::string ManPage(const Program& program);
// A completion script; `shell` is "bash", "zsh" or "fish", anything else gives "".
[[nodiscard]] std::string Completion(const Program& program, std::string_view shell);

}  // namespace partita::base
