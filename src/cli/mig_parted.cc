#include "cli/mig_parted.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/mig_parted_commands.h"
#include "cli/mig_parted_outcome.h"

namespace partita::cli {

base::Program MakeMigPartedProgram() {
  base::Program program;
  program.version = Version();
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
  program.exit_statuses = {{kExitDone, "done"}, {kExitError, "an error"}};
  return program;
}

int MigPartedMain(int argc, char** argv) {
  const base::Program program = MakeMigPartedProgram();
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const auto environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  const base::Result<base::Parsed> parsed = base::ParseCommandLine(program, words, environment);
  if (parsed.ok()) return base::Main(program, argc, argv);
  std::fputs(base::HelpText(program, {}).c_str(), stdout);
  parted::PrintFatal(parted::Fail(parsed.error()).message);
  return kExitError;
}

}  // namespace partita::cli
