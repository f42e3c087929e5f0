#include <string>
#include <utility>

#include "base/files.h"
#include "cli/mig/change.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/report_error.h"
#include "service/mig/goal_source.h"

namespace partita::cli {

int RunMigRestore(const base::Invocation& invocation) {
  const base::Result<MigOptions> options = ReadMigOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  const std::string path = invocation.Get("checkpoint-file").value_or("");
  base::Result<std::string> text = base::ReadFile(path == "-" ? "/dev/stdin" : path);
  if (!text.ok()) {
    return ReportError(std::move(text).error().WithHint(
        "check the path; \"partita mig checkpoint\" writes such a file"));
  }
  const base::Result<service::mig::WantedGoal> checkpoint = service::mig::WantedGoal::Parse(
      {service::mig::GoalKind::kCheckpoint, *std::move(text), path, ""});
  if (!checkpoint.ok()) return ReportError(checkpoint.error());
  return CarryOutChange(*options, ReadChange(invocation, "partita mig restore", *checkpoint, {}));
}

}  // namespace partita::cli
