#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/value.h"
#include "cli/parted/change.h"
#include "cli/parted/commands.h"
#include "cli/parted/flags.h"
#include "cli/parted/node.h"
#include "service/mig/checkpoint.h"

namespace partita::cli::parted {

namespace {

using base::Invocation;
using base::Option;
using base::Result;

Outcome Checkpointed(const Invocation& invocation) {
  const std::optional<std::string> path = invocation.Get("checkpoint-file");
  if (!path || path->empty()) return MissingFlag("checkpoint-file");
  service::inventory::Reader reader(Reading());
  model::Inventory node;
  if (Outcome failure = ReadNode(reader, node)) return failure;
  const Result<base::Value> document = service::mig::CheckpointDocument(node);
  if (!document.ok()) return Fail(document.error());
  const Result<void> written = base::WriteFileAtomically(*path, base::ToJson(*document), 0600);
  return written.ok() ? Outcome() : Fail(written.error());
}

int RunCheckpoint(const Invocation& invocation) {
  return Finish(invocation, Checkpointed(invocation),
                "MIG configuration checkpointed successfully");
}

std::vector<Option> RestoreFlags() {
  return {CheckpointFileFlag(), HooksFileFlag(), ModeOnlyFlag()};
}

Failure Unreadable(const base::Error& error) {
  Failure failure = Fail(error, kExitInvalidInput);
  failure.message = "error parsing checkpoint file: " + failure.message;
  return failure;
}

Outcome Restored(const Invocation& invocation) {
  const std::optional<std::string> path = invocation.Get("checkpoint-file");
  if (!path || path->empty()) return MissingFlag("checkpoint-file");
  Result<std::string> text = base::ReadFile(*path);
  if (!text.ok()) return Unreadable(text.error());
  const Result<service::mig::Checkpoint> checkpoint =
      service::mig::Checkpoint::Parse(*std::move(text), *path);
  if (!checkpoint.ok()) return Unreadable(checkpoint.error());
  return Changed(invocation, RestoreFlags(), {},
                 [&](const model::Inventory& node) { return checkpoint->Resolve(node); });
}

int RunRestore(const Invocation& invocation) {
  return Finish(invocation, Restored(invocation), "MIG configuration restored successfully");
}

}  // namespace

base::Command CheckpointCommand() {
  return {.name = "checkpoint",
          .summary = "Write the present MIG state to a file",
          .options = {CheckpointFileFlag()},
          .run = RunCheckpoint};
}

base::Command RestoreCommand() {
  return {.name = "restore",
          .summary = "Restore the MIG state of a checkpoint",
          .options = RestoreFlags(),
          .run = RunRestore};
}

}  // namespace partita::cli::parted
