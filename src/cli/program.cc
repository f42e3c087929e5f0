#include "base/output_format.h"
#include "cli/agent/commands.h"
#include "cli/cdi/commands.h"
#include "cli/commands.h"
#include "cli/device_plugin/device_plugin.h"
#include "cli/doctor/commands.h"
#include "cli/exit_status.h"
#include "cli/explain/commands.h"
#include "cli/health/commands.h"
#include "cli/labels/commands.h"
#include "cli/labels/feature_discovery.h"
#include "cli/mig/commands.h"
#include "cli/parted/parted.h"
#include "cli/run/commands.h"
#include "cli/runtime/commands.h"
#include "cli/selector/config_selector.h"
#include "cli/toolkit/commands.h"

namespace partita::cli {

namespace {

using base::Command;
using base::Option;

Option OutputOption() {
  return {.name = "output",
          .letter = 'o',
          .value_name = "FORMAT",
          .help = "how to show the answer",
          .environment = "PARTITA_OUTPUT",
          .choices = base::OutputFormatNames(),
          .default_value = "text"};
}

// What every command that looks at the machine or draws takes.
std::vector<Option> CommonOptions() {
  return {
      OutputOption(),
      {.name = "driver-root",
       .value_name = "DIR",
       .help = "where the driver's files are installed, for drivers in a container",
       .environment = "PARTITA_DRIVER_ROOT",
       .default_value = "/"},
      {.name = "library",
       .value_name = "FILE",
       .help = "exactly this driver library, instead of searching libnvidia-ml.so.1",
       .environment = "PARTITA_LIBRARY"},
      {.name = "host-root",
       .value_name = "DIR",
       .help = "where the host's /proc, /sys and /dev are found",
       .environment = "PARTITA_HOST_ROOT",
       .default_value = "/"},
      {.name = "color",
       .value_name = "WHEN",
       .help = "use colour; auto means on a terminal, unless NO_COLOR is set",
       .environment = "PARTITA_COLOR",
       .choices = {"auto", "always", "never"},
       .default_value = "auto"},
      {.name = "width",
       .value_name = "COLUMNS",
       .help = "draw as wide as this, from 60 to 500; else as the terminal, else 80"},
      {.name = "ascii", .help = "draw with plain characters, as where the locale is not UTF-8"},
  };
}

Command StatusCommand() {
  return {
      .name = "status",
      .summary = "Show the GPUs of this machine",
      .description =
          "Draws every GPU with its memory, load, temperature, power and modes; in MIG mode its "
          "slices to scale; who holds it; what is wrong with it and what to do. Then how the GPUs "
          "reach each other, which are bound to vfio, and what could not be read.\n\n"
          "With --output json or yaml it prints the same as a document of the versioned schema "
          "partita.dev/status/v1. A GPU that fails does not hide the others, and faults do not "
          "change the exit status: it is a report. Without a driver the exit status is 6.\n\n"
          "Where partita agent runs, it is asked, and a GPU that no longer answers it is shown as "
          "it was, with its age. Without one, and where --driver-root, --library or --host-root "
          "name something else than this machine's, the command looks itself.\n\n"
          "With --watch the drawing is renewed on the terminal's alternate screen every SECONDS "
          "(2 unless given) until q or Ctrl-C; arrows and space move in a drawing that is taller "
          "than the screen. Into a pipe the reports follow each other: json as one document a "
          "line, yaml as documents behind ---, text with an empty line between.",
      .options = {{.name = "gpu",
                   .letter = 'g',
                   .value_name = "ID",
                   .help = "only these GPUs (0,1), by index, PCI address, UUID or product",
                   .repeatable = true},
                  {.name = "details",
                   .letter = 'd',
                   .help = "also UUIDs, board and PCI facts, MIG profiles, device nodes"},
                  {.name = "watch", .letter = 'w', .help = "renew it until stopped"},
                  {.name = "count",
                   .value_name = "N",
                   .help = "with --watch: stop after N reports"}},
      .arguments = {{.name = "SECONDS",
                     .help = "with --watch: the time between two looks, 0.1 or more",
                     .required = false}},
      .examples = {{"partita status", "draw this machine"},
                   {"partita status --gpu 0,GPU-75dc73da --details", "two GPUs, in full"},
                   {"partita status --watch 1", "renew every second; q quits"},
                   {"partita status -o json", "for programs"},
                   {"partita status --driver-root /run/nvidia/driver",
                    "with the driver of a driver container"}},
      .run = RunStatus,
  };
}

Command VersionCommand() {
  return {.name = "version",
          .summary = "Show the version of this program",
          .examples = {{"partita version -o json", "for programs"}},
          .run = RunVersion};
}

// This program has several names, each with commands of its own.
base::Argument ProgramArgument() {
  return {.name = "PROGRAM",
          .help = "the name it is called by; partita when it is not given",
          .required = false,
          .choices = {"partita", std::string(kMigPartedName), std::string(kDevicePluginName),
                      std::string(kFeatureDiscoveryName), std::string(kConfigSelectorName)}};
}

Command CompletionCommand() {
  return {.name = "completion",
          .summary = "Print a completion script for a shell",
          .arguments = {{.name = "SHELL",
                         .help = "the shell to complete in",
                         .choices = {"bash", "zsh", "fish"}},
                        ProgramArgument()},
          .examples = {{"source <(partita completion bash)", "in this shell"},
                       {"partita completion zsh > ~/.zfunc/_partita",
                        "for zsh, with ~/.zfunc in fpath"},
                       {"partita completion fish > ~/.config/fish/completions/partita.fish",
                        "for fish"}},
          .run = RunCompletion};
}

Command SimCommand() {
  return {.name = "sim",
          .summary = "Run the simulator, partita-sim, where it is installed",
          .description = "Everything after sim goes to the program partita-sim beside this one.",
          .examples = {{"partita sim up dgx-a100-40", "a simulated DGX A100"},
                       {"partita sim list", "the simulated nodes on this machine"}},
          .takes_rest = true,
          .rest_name = "ARGUMENTS",
          .run = RunSim};
}

Command ManCommand() {
  return {.name = "man",
          .summary = "Print the manual page in roff",
          .arguments = {ProgramArgument()},
          .examples = {{"partita man | man -l -", "read it"}},
          .run = RunMan};
}

}  // namespace

base::Program MakeProgram() {
  base::Program program;
  program.version = Version();
  program.root = {
      .name = "partita",
      .summary = "NVIDIA GPUs on a node, for Kubernetes",
      .description = "Shows the GPUs of a machine as they are, and divides them.",
      .options = CommonOptions(),
      .examples = {{"partita status", "draw the GPUs of this machine"},
                   {"partita help status", "what a command takes"}},
      .commands = {StatusCommand(), HealthCommand(), MigCommand(), LabelsCommand(),
                   ExplainCommand(), RunCommand(), CdiCommand(), RuntimeCommand(), ToolkitCommand(),
                   DoctorCommand(), AgentCommand(), MpsRunnerCommand(), MpsCommand(),
                   ConfigCommand(), VersionCommand(), CompletionCommand(), ManCommand(),
                   SimCommand()},
  };
  program.exit_statuses = {
      {kExitDone, "done"},
      {kExitError, "an error"},
      {kExitInvalidInput, "invalid input: an option, an argument or a file"},
      {kExitNotApplied,
       "not applied, or only in part; health: some may get no work; explain: "
       "some would not run"},
      {kExitBlocked, "blocked by a holder of the GPU"},
      {kExitResetRequired, "a GPU reset or a reboot is required"},
      {kExitNoDriver, "no driver answers on this machine"},
  };
  program.environment = {
      {"NO_COLOR", "when set and not empty, no colour unless --color always"},
      {"LC_ALL, LC_CTYPE, LANG",
       "the first that is set decides between UTF-8 and plain characters"},
      {"TERM", "when dumb or unset, no colour unless --color always"},
  };
  return program;
}

base::Program ProgramNamed(std::string_view name) {
  if (name == kMigPartedName) return MakeMigPartedProgram();
  if (name == kDevicePluginName) return MakeDevicePluginProgram();
  if (name == kFeatureDiscoveryName) return MakeFeatureDiscoveryProgram();
  if (name == kConfigSelectorName) return MakeConfigSelectorProgram();
  return MakeProgram();
}

}  // namespace partita::cli
