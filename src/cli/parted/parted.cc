#include "cli/parted/parted.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/parted/commands.h"
#include "cli/parted/outcome.h"
#include "cli/parted/words.h"

namespace partita::cli {

namespace {

// The reference's own status for a command or help topic that does not exist.
constexpr int kExitUnknownTopic = 3;

}  // namespace

base::Program MakeMigPartedProgram() {
  base::Program program;
  // The version of the reference whose commands and flags these are, where scripts look for it.
  program.version = fmt::format("version 0.15.0 (partita {})", Version());
  program.root = {
      .name = std::string(kMigPartedName),
      .summary = "Divide NVIDIA GPUs with MIG; partita under the name of NVIDIA's editor",
      .options =
          {{.name = "debug", .letter = 'd', .help = "say more", .environment = "MIG_PARTED_DEBUG"},
           {.name = "exit-codes",
            .value_name = "KIND",
            .help = "extended: 2 invalid, 3 not applied, 4 in use, 5 reset required, 6 no "
                    "driver; else 1 for every error",
            .choices = {"reference", "extended"},
            .default_value = "reference"}},
      .commands = {parted::ApplyCommand(), parted::AssertCommand(), parted::ExportCommand(),
                   parted::GenerateConfigCommand(), parted::CheckpointCommand(),
                   parted::RestoreCommand()},
  };
  program.exit_statuses = {
      {kExitDone, "done"}, {kExitError, "an error"}, {kExitUnknownTopic, "no such command"}};
  return program;
}

namespace {

// The words of a shell's completion script for this program end with this one.
constexpr std::string_view kCompletionWord = "--generate-bash-completion";

int ListCommands(const base::Program& program) {
  for (const base::Command& command : program.root.commands) fmt::print("{}\n", command.name);
  return kExitDone;
}

int FailUsage(const base::Program& program, const std::string& command, const base::Error& error) {
  const std::vector<std::string> path =
      command.empty() ? std::vector<std::string>() : std::vector<std::string>{command};
  std::fputs(base::HelpText(program, path).c_str(), stdout);
  parted::PrintLog(parted::Level::kFatal, parted::TextOf(error));
  return kExitError;
}

// The name of the command among the words, for its help; "" when there is none.
std::string CommandAmong(const base::Program& program, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    for (const base::Command& command : program.root.commands) {
      if (command.name == word) return word;
    }
  }
  return "";
}

// Our parser takes more words for true, but not these.
void SpellSwitchesOut(const std::vector<base::Option>& options) {
  for (const base::Option& option : options) {
    if (!option.value_name.empty() || option.environment.empty()) continue;
    const char* value = std::getenv(option.environment.c_str());
    if (value == nullptr) continue;
    const std::string_view text(value);
    if (text == "t" || text == "T") setenv(option.environment.c_str(), "true", 1);
    if (text == "f" || text == "F") setenv(option.environment.c_str(), "false", 1);
  }
}

std::optional<std::string> FromEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

int MigPartedMain(int argc, char** argv) {
  const base::Program program = MakeMigPartedProgram();
  const std::vector<std::string> given(argv + std::min(argc, 1), argv + argc);
  const std::string command = CommandAmong(program, given);
  if (!given.empty() && given.back() == kCompletionWord) {
    return command.empty() ? ListCommands(program) : kExitDone;
  }
  base::Result<parted::Understood> understood = parted::Understand(program, given);
  if (!understood.ok()) return FailUsage(program, command, understood.error());
  if (!understood->unknown_topic.empty()) {
    std::fprintf(stderr, "No help topic for '%s'\n", understood->unknown_topic.c_str());
    return kExitUnknownTopic;
  }
  for (const std::string& word : understood->ignored) {
    parted::PrintLog(parted::Level::kWarning, fmt::format("ignored: {}", base::Quoted(word)));
  }
  for (const std::string& name : understood->overruled) unsetenv(name.c_str());
  SpellSwitchesOut(program.root.options);
  for (const base::Command& each : program.root.commands) SpellSwitchesOut(each.options);

  std::vector<std::string>& words = understood->words;
  const base::Result<base::Parsed> parsed = base::ParseCommandLine(program, words, FromEnvironment);
  if (!parsed.ok()) return FailUsage(program, command, parsed.error());
  std::vector<char*> arguments = {argv[0]};
  for (std::string& word : words) arguments.push_back(word.data());
  return base::Main(program, static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace partita::cli
