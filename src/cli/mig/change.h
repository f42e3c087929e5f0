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
#include "service/mig/procedure.h"

namespace partita::cli {

struct ChangeRequest {
  service::mig::NodeGoalFn goal;
  service::mig::NodeGoalFn modes;  // of a look without a driver; empty: nothing can be done there
  service::mig::ApplyOptions options;
  std::string command;  // "partita mig apply", told to whoever comes second
  bool sure = false;    // ask nothing
  bool wait = false;    // for another change to end
};

// What the flags that apply and restore share say; the goal is still to be set.
[[nodiscard]] ChangeRequest ReadChange(const base::Invocation& invocation, std::string command);

// Returns the exit status. A change that lasts is what the next boot selects.
int CarryOutChange(const MigOptions& options,
                   const ChangeRequest& request,
                   const service::mig::BootSelection& selection);

// Tells standard error of each step that is done.
[[nodiscard]] service::mig::Progress ShowSteps();

// What a hook wrote, on standard error as it is.
void ShowOutput(const std::string& output);

// What became of a change, for a person and as partita.dev/mig/v1, kind MigResult.
[[nodiscard]] Lines DrawResult(const service::mig::ApplyReport& report, const Look& look);
[[nodiscard]] base::Value ResultDocument(const service::mig::ApplyReport& report);
[[nodiscard]] int ExitStatus(service::mig::ChangeStatus status);

// Set by SIGINT, SIGTERM and SIGHUP once StopOnSignals was called.
[[nodiscard]] std::atomic<bool>& StopFlag();
void StopOnSignals();

}  // namespace partita::cli
