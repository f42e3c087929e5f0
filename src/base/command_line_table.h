// The command table seen as a list of places, for everything that is generated from it. Private to
// the command_line_*.cc files.
#pragma once

#include <string>
#include <vector>

#include "base/command_line.h"

namespace partita::base {

struct CommandPlace {
  const Command* command;
  std::string name;                      // "partita mig apply"
  std::vector<std::string> path;         // {"mig", "apply"}
  std::vector<const Option*> inherited;  // of the commands above, outermost first
};

// The root and every command that is not hidden (nor below one that is), depth first.
[[nodiscard]] std::vector<CommandPlace> VisibleCommands(const Program& program);

// The help with choices, default and environment in parentheses.
[[nodiscard]] std::string OptionMeaning(const Option& option);

// "partita-sim run [OPTIONS] [--] COMMAND..."
[[nodiscard]] std::string UsageLine(const CommandPlace& place);

}  // namespace partita::base
