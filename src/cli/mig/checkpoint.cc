#include "service/mig/checkpoint.h"

#include <cstdio>
#include <string>

#include "base/files.h"
#include "cli/exit_status.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/report_error.h"

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

}  // namespace partita::cli
