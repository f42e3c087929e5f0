#include "cli/parted/change.h"
#include "cli/report_error.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/mig/change.h"
#include "cli/parted/node.h"
#include "cli/parted/outcome.h"
#include "cli/parted/parted.h"
#include "service/mig/hooks.h"
#include "service/mig/procedure.h"

namespace partita::cli::parted {

namespace {

using base::Invocation;
using base::Option;
using base::Result;
using service::mig::ChangeStatus;

// The variables of a command's flags, as hooks see them.
std::map<std::string, std::string> FlagVariables(const Invocation& invocation,
                                                 const std::vector<Option>& options) {
  std::map<std::string, std::string> variables;
  for (const Option& option : options) {
    if (option.environment.empty()) continue;
    variables[option.environment] = option.value_name.empty()
                                        ? (invocation.Has(option.name) ? "true" : "false")
                                        : invocation.Get(option.name).value_or("");
  }
  return variables;
}

void PrintDebug(const std::string& line) { PrintLog(Level::kDebug, line); }

Result<service::mig::HookRunner> LoadHooks(const Invocation& invocation,
                                           const std::vector<Option>& options) {
  config::HooksFile hooks;
  if (const std::optional<std::string> path = invocation.Get("hooks-file");
      path && !path->empty()) {
    TRY_VOID(service::mig::CheckSelectable(*path), "error parsing hooks file");
    TRY(loaded, config::HooksFile::Load(*path), "error parsing hooks file");
    hooks = std::move(loaded);
  }
  service::mig::HookOptions around;
  around.variables = FlagVariables(invocation, options);
  around.stop = &StopFlag();
  around.wrote = ShowOutput;
  if (invocation.Has("debug")) {
    around.starts = [](std::string_view point, const std::string& command) {
      PrintDebug(fmt::format("{}: {}", point, command));
    };
  }
  return service::mig::HookRunner(std::move(hooks), std::move(around));
}

// The reference's name tells how the change ended, not which error was behind it.
base::ErrorCode CodeOf(ChangeStatus status) {
  switch (status) {
    case ChangeStatus::kInvalid: return base::ErrorCode::kInvalid;
    case ChangeStatus::kUndecided:
    case ChangeStatus::kNotApplied: return base::ErrorCode::kNotApplied;
    case ChangeStatus::kBlocked: return base::ErrorCode::kBusy;
    case ChangeStatus::kResetRequired: return base::ErrorCode::kResetRequired;
    case ChangeStatus::kNoDriver: return base::ErrorCode::kNoDriver;
    case ChangeStatus::kDone:
    case ChangeStatus::kFailed: break;
  }
  return base::ErrorCode::kIo;
}

Result<void> ResultOf(const service::mig::ChangeEnd& end) {
  if (end.Done()) return {};
  const base::ErrorCode code = CodeOf(end.status);
  if (end.error) return base::Error(*end.error).As(code);
  const std::vector<std::string> errors = service::mig::ErrorTexts(*end.report);
  return base::Error(
      code, errors.empty() ? "a GPU reset or a reboot is required" : base::Join(errors, "; "));
}

}  // namespace

Result<void> Changed(const Invocation& invocation,
                     const std::vector<Option>& options,
                     const service::mig::BootSelection& selection,
                     const service::mig::WantedGoal& goal) {
  Result<service::mig::HookRunner> hooks = LoadHooks(invocation, options);
  if (!hooks.ok()) return std::move(hooks).error().As(base::ErrorCode::kInvalid);
  StopOnSignals();
  service::mig::ChangeOrder order;
  order.goal = goal.Goal();
  order.modes = goal.Modes();
  order.options.skip_reset = invocation.Has("skip-reset");
  order.options.mode_only = invocation.Has("mode-only");
  order.lock.emplace();
  order.lock->command = kMigPartedName;
  order.lock->wait = true;
  order.lock->stop = &StopFlag();
  order.in_steps = true;
  order.hooks = *std::move(hooks);
  order.selection = selection;
  order.stop = &StopFlag();
  if (invocation.Has("debug")) {
    order.progress = ShowSteps();
    order.debug = PrintDebug;
  }
  const service::mig::ChangeEnd end = service::mig::ChangeProcedure(Reading()).Run(order);
  for (const std::string& warning : end.warnings) Warn(warning);
  return ResultOf(end);
}

}  // namespace partita::cli::parted
