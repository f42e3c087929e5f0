#include "service/mig/checkpoint.h"

#include <cstdio>
#include <string>
#include <utility>

#include "base/files.h"
#include "cli/exit_status.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/report_error.h"

namespace partita::cli {

namespace {

struct CheckpointOptions : MigOptions {
  std::string path;  // "-": standard output
};

base::Result<CheckpointOptions> ReadCheckpointOptions(const base::Invocation& invocation) {
  TRY(common, ReadMigOptions(invocation));
  return CheckpointOptions{std::move(common), invocation.Get("checkpoint-file").value_or("-")};
}

}  // namespace

int RunMigCheckpoint(const base::Invocation& invocation) {
  const base::Result<CheckpointOptions> options = ReadCheckpointOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  return WithMigNode(*options, [&](const model::Inventory& node) {
    const base::Result<base::Value> document = service::mig::CheckpointDocument(node);
    if (!document.ok()) return ReportError(document.error());
    const std::string text = base::ToJson(*document);
    if (options->path == "-") {
      std::fwrite(text.data(), 1, text.size(), stdout);
      return kExitDone;
    }
    const base::Result<void> written = base::WriteFileAtomically(options->path, text, 0600);
    return written.ok() ? kExitDone : ReportError(written.error());
  });
}

}  // namespace partita::cli
