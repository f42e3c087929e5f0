#include "cli/parted/commands.h"
#include "cli/parted/emit.h"
#include "cli/parted/flags.h"
#include "cli/parted/outcome.h"
#include "service/mig/generated_config.h"

namespace partita::cli::parted {

namespace {

using base::Invocation;
using base::Result;

int RunGenerate(const Invocation& invocation) {
  const MakeConfig make = [](const model::Inventory& node, const EmitOptions&) {
    return service::mig::GenerateConfig(node);
  };
  return Finish(ReadExitCodes(invocation), Emit(invocation, make), "");
}

}  // namespace

base::Command GenerateConfigCommand() {
  return {.name = "generate-config",
          .summary = "Print every common configuration of these GPUs",
          .options = {FileFlag("output-file", "MIG_PARTED_OUTPUT_FILE", "instead of stdout"),
                      FormatFlag()},
          .run = RunGenerate};
}

}  // namespace partita::cli::parted
