#include <string>
#include <utility>

#include "base/files.h"
#include "cli/mig/change.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/report_error.h"
#include "service/mig/goal_source.h"

namespace partita::cli {

namespace {

struct RestoreOptions : MigChangeOptions {
  std::string path;  // "-": standard input
};

base::Result<RestoreOptions> ReadRestoreOptions(const base::Invocation& invocation) {
  TRY(common, ReadMigChangeOptions(invocation));
  return RestoreOptions{std::move(common), invocation.Get("checkpoint-file").value_or("")};
}

}  // namespace

int RunMigRestore(const base::Invocation& invocation) {
  const base::Result<RestoreOptions> options = ReadRestoreOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  const std::string& path = options->path;
  base::Result<std::string> text = base::ReadFile(path == "-" ? "/dev/stdin" : path);
  if (!text.ok()) {
    return ReportError(std::move(text).error().WithHint(
        "check the path; \"partita mig checkpoint\" writes such a file"));
  }
  const base::Result<service::mig::WantedGoal> checkpoint = service::mig::WantedGoal::Parse(
      {service::mig::GoalKind::kCheckpoint, *std::move(text), path, ""});
  if (!checkpoint.ok()) return ReportError(checkpoint.error());
  return CarryOutChange(*options, MakeChange(*options, "partita mig restore", *checkpoint, {}));
}

}  // namespace partita::cli
