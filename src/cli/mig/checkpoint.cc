#include "service/mig/checkpoint.h"

#include <cstdio>
#include <string>
#include <utility>

#include "base/files.h"
#include "cli/exit_status.h"
#include "cli/mig/change.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/report_error.h"
#include "service/mig/goal_source.h"

namespace partita::cli {

int RunMigCheckpoint(const base::Invocation& invocation) {
  const std::string path = invocation.Get("checkpoint-file").value_or("-");
  return WithMigNode(invocation, [&](const MigOptions&, const model::Inventory& node) {
    const base::Result<base::Value> document = service::mig::CheckpointDocument(node);
    if (!document.ok()) return ReportError(document.error());
    const std::string text = base::ToJson(*document);
    if (path == "-") {
      std::fwrite(text.data(), 1, text.size(), stdout);
      return kExitDone;
    }
    const base::Result<void> written = base::WriteFileAtomically(path, text, 0600);
    return written.ok() ? kExitDone : ReportError(written.error());
  });
}

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
