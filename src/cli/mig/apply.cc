#include "cli/mig/change.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/mig/request.h"
#include "cli/report_error.h"

namespace partita::cli {

int RunMigApply(const base::Invocation& invocation) {
  const base::Result<MigChangeOptions> options = ReadMigChangeOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  const base::Result<MigRequest> request = MigRequest::Read(invocation);
  if (!request.ok()) return ReportError(request.error());
  return CarryOutChange(
      *options, MakeChange(*options, "partita mig apply", request->goal(), request->Selection()));
}

}  // namespace partita::cli
