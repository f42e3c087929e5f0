#include <optional>
#include <string>

#include "base/files.h"
#include "base/value.h"
#include "cli/parted/commands.h"
#include "cli/parted/flags.h"
#include "cli/parted/node.h"
#include "cli/parted/outcome.h"
#include "service/mig/checkpoint.h"

namespace partita::cli::parted {

namespace {

using base::Invocation;
using base::Result;

Result<void> Checkpointed(const Invocation& invocation) {
  const std::optional<std::string> path = invocation.Get("checkpoint-file");
  if (!path || path->empty()) return MissingFlag(invocation, "checkpoint-file");
  TRY(node, ReadNode());
  TRY(document, service::mig::CheckpointDocument(node));
  return base::WriteFileAtomically(*path, base::ToJson(document), 0600);
}

int RunCheckpoint(const Invocation& invocation) {
  return Finish(ReadExitCodes(invocation), Checkpointed(invocation),
                "MIG configuration checkpointed successfully");
}

}  // namespace

base::Command CheckpointCommand() {
  return {.name = "checkpoint",
          .summary = "Write the present MIG state to a file",
          .options = {CheckpointFileFlag()},
          .run = RunCheckpoint};
}

}  // namespace partita::cli::parted
