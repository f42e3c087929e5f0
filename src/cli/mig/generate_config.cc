#include "cli/exit_status.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/report_error.h"
#include "service/mig/generated_config.h"

namespace partita::cli {

int RunMigGenerateConfig(const base::Invocation& invocation) {
  const base::Result<MigOptions> options = ReadMigOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  return WithMigNode(*options, [&](const model::Inventory& node) {
    const base::Result<base::Value> config = service::mig::GenerateConfig(node);
    if (!config.ok()) return ReportError(config.error());
    PrintConfig(*options, *config);
    return kExitDone;
  });
}

}  // namespace partita::cli
