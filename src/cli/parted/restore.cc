#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "cli/parted/change.h"
#include "cli/parted/commands.h"
#include "cli/parted/flags.h"
#include "cli/parted/outcome.h"
#include "service/mig/goal_source.h"

namespace partita::cli::parted {

namespace {

using base::Invocation;
using base::Option;
using base::Result;

std::vector<Option> RestoreFlags() {
  return {CheckpointFileFlag(), HooksFileFlag(), ModeOnlyFlag()};
}

Result<service::mig::WantedGoal> LoadCheckpoint(const std::string& path) {
  TRY(text, base::ReadFile(path));
  return service::mig::WantedGoal::Parse(
      {service::mig::GoalKind::kCheckpoint, std::move(text), path, "", {}, true});
}

Result<void> Restored(const Invocation& invocation) {
  const std::optional<std::string> path = invocation.Get("checkpoint-file");
  if (!path || path->empty()) return MissingFlag(invocation, "checkpoint-file");
  const Result<service::mig::WantedGoal> checkpoint = LoadCheckpoint(*path);
  if (!checkpoint.ok()) return Unusable("error parsing checkpoint file", checkpoint.error());
  return Changed(ReadChangeOptions(invocation, RestoreFlags()), {}, *checkpoint);
}

int RunRestore(const Invocation& invocation) {
  return Finish(ReadExitCodes(invocation), Restored(invocation),
                "MIG configuration restored successfully");
}

}  // namespace

base::Command RestoreCommand() {
  return {.name = "restore",
          .summary = "Restore the MIG state of a checkpoint",
          .options = RestoreFlags(),
          .run = RunRestore};
}

}  // namespace partita::cli::parted
