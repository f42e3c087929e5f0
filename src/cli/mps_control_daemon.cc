#include "cli/mps_control_daemon.h"

#include <string>

#include "cli/report_error.h"

namespace partita::cli {

int MpsControlDaemonMain() {
  return ReportError(
      base::MakeError(base::ErrorCode::kInvalid,
                      "there is no {} here: partita agent runs a daemon of its own for each GPU or "
                      "MIG device that sharing.mps names",
                      kMpsControlDaemonName)
          .WithHint("take this container or DaemonSet away and set mps.enabled in partita's chart, "
                    "or mps.runner in the configuration of an agent on the host; see docs/mps.md"));
}

}  // namespace partita::cli
