// Carrying a change out, for `mig apply` and `mig restore`: the plan, a question where work would
// be lost, progress, and what became of it.
#pragma once

#include <atomic>
#include <string>

#include "base/command_line.h"
#include "base/value.h"
#include "cli/draw/drawing.h"
#include "cli/mig/node.h"
#include "service/mig/apply.h"
#include "service/mig/boot_selection.h"
#include "service/mig/goal_source.h"
#include "service/mig/procedure.h"
#include "service/mig/remote_order.h"

namespace partita::cli {

struct ChangeRequest {
  service::mig::WantedGoal goal;
  service::mig::RemoteOrder order;
  bool sure = false;  // ask nothing
};

// What apply and restore take.
struct MigChangeOptions : MigOptions {
  bool skip_reset = false;
  bool mode_only = false;
  bool wait = false;  // for the end of another change
  bool sure = false;  // ask nothing
};
[[nodiscard]] base::Result<MigChangeOptions> ReadMigChangeOptions(
    const base::Invocation& invocation);

// A change that lasts is what the next boot selects.
[[nodiscard]] ChangeRequest MakeChange(const MigChangeOptions& options,
                                       std::string command,
                                       service::mig::WantedGoal goal,
                                       service::mig::BootSelection selection);

// Returns the exit status.
int CarryOutChange(const MigOptions& options, const ChangeRequest& request);

// Tells standard error of each step that is done, and of what hooks wrote.
void ShowProgress(const service::mig::ChangeNews& news);

// What became of a change, for a person and as partita.dev/mig/v1, kind MigResult.
[[nodiscard]] Lines DrawResult(const service::mig::ApplyReport& report, const Look& look);
[[nodiscard]] base::Value ResultDocument(const service::mig::ApplyReport& report);
[[nodiscard]] int ExitStatus(service::mig::ChangeStatus status);

// Set by SIGINT, SIGTERM and SIGHUP once StopOnSignals was called.
[[nodiscard]] std::atomic<bool>& StopFlag();
void StopOnSignals();

}  // namespace partita::cli
