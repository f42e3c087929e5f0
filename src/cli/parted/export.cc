#include "cli/parted/commands.h"
#include "cli/parted/emit.h"
#include "cli/parted/outcome.h"
#include "service/mig/generated_config.h"

namespace partita::cli::parted {

namespace {

using base::Invocation;
using base::Option;
using base::Result;

int RunExport(const Invocation& invocation) {
  const MakeConfig make = [](const model::Inventory& node, const EmitOptions& options) {
    return service::mig::ExportConfig(node, options.label);
  };
  return Finish(ReadExitCodes(invocation), Emit(invocation, make), "");
}

}  // namespace

base::Command ExportCommand() {
  const Option label{.name = "config-label",
                     .letter = 'l',
                     .value_name = "NAME",
                     .help = "the label of the configuration",
                     .environment = "MIG_PARTED_CONFIG_LABEL",
                     .default_value = "current"};
  return {.name = "export",
          .summary = "Print the present MIG configuration",
          .options = {FormatFlag(), label},
          .run = RunExport};
}

}  // namespace partita::cli::parted
