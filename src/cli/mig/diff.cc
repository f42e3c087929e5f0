#include "cli/exit_status.h"
#include "cli/mig/commands.h"
#include "cli/mig/compare.h"
#include "cli/mig/node.h"
#include "cli/report_error.h"

namespace partita::cli {

int RunMigDiff(const base::Invocation& invocation) {
  const base::Result<CompareOptions> options = ReadCompareOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  return WithGoal(*options, [](const Asked& asked) {
    const auto differences = service::mig::Differences(asked.node, asked.goal, false);
    if (!differences.ok()) return ReportError(differences.error());
    Print(asked.options, MigDiffDocument(asked.node, *differences),
          [&](const Look& look) { return DrawMigDiff(asked.node, *differences, look); });
    return differences->empty() ? kExitDone : kExitNotApplied;
  });
}

}  // namespace partita::cli
