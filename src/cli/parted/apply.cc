#include "cli/parted/change.h"
#include "cli/parted/commands.h"
#include "cli/parted/flags.h"
#include "cli/parted/node.h"
#include "cli/parted/outcome.h"
#include "service/mig/node_goal.h"

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
  const service::mig::BootSelection selection{invocation.Get("config-file").value_or(""),
                                              invocation.Get("hooks-file").value_or(""),
                                              selected.config->name};
  return Changed(
      invocation, Flags(), selection,
      [&selected = selected](const model::Inventory& node) {
        return service::mig::ResolveConfig(*selected.file, *selected.config, node);
      },
      [&selected = selected](const model::Inventory& node) {
        return service::mig::ResolveModes(*selected.file, *selected.config, node);
      });
}

int Run(const base::Invocation& invocation) {
  return Finish(invocation, Applied(invocation), "MIG configuration applied successfully");
}

}  // namespace

base::Command ApplyCommand() {
  return {.name = "apply", .summary = "Apply a MIG configuration", .options = Flags(), .run = Run};
}

}  // namespace partita::cli::parted
