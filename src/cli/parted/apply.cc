#include "cli/parted/change.h"
#include "cli/parted/commands.h"
#include "cli/parted/flags.h"
#include "cli/parted/node.h"
#include "cli/parted/outcome.h"
#include "service/mig/goal_source.h"

namespace partita::cli::parted {

namespace {

std::vector<base::Option> Flags() {
  const base::Option skip_reset{.name = "skip-reset",
                                .letter = 's',
                                .help = "leave modes pending that need a GPU reset",
                                .environment = "MIG_PARTED_SKIP_RESET"};
  return {ConfigFileFlag(), SelectedConfigFlag(), HooksFileFlag(), skip_reset, ModeOnlyFlag()};
}

base::Result<void> Applied(const base::Invocation& invocation) {
  TRY(selected, LoadSelected(invocation));
  const ChangeOptions options = ReadChangeOptions(invocation, Flags());
  const service::mig::BootSelection selection{selected.path, options.hooks_file,
                                              selected.config->name};
  const config::Document& document = selected.file->document();
  TRY(goal, service::mig::WantedGoal::Parse({service::mig::GoalKind::kFile,
                                             document.text(),
                                             document.file_name(),
                                             selected.config->name,
                                             {},
                                             true}));
  return Changed(options, selection, goal);
}

int RunApply(const base::Invocation& invocation) {
  return Finish(ReadExitCodes(invocation), Applied(invocation),
                "MIG configuration applied successfully");
}

}  // namespace

base::Command ApplyCommand() {
  return {
      .name = "apply", .summary = "Apply a MIG configuration", .options = Flags(), .run = RunApply};
}

}  // namespace partita::cli::parted
