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
#include "cli/mig/without_driver.h"
#include "cli/parted/node.h"
#include "cli/parted/parted.h"
#include "hw/inventory_reader.h"
#include "hw/mig_control.h"
#include "service/mig/applied.h"
#include "service/mig/awaited.h"
#include "service/mig/differences.h"
#include "service/mig/hooks.h"
#include "service/mig/lock.h"
#include "service/mig/node_plan.h"

namespace partita::cli::parted {

namespace {

using base::ErrorCode;
using base::Invocation;
using base::Option;
using base::Result;

// What waits for a reboot is finished by that boot.
bool Lasts(const Outcome& outcome) { return !outcome || outcome->status == kExitResetRequired; }

class Change {
 public:
  Change(const Invocation& invocation,
         service::mig::NodeGoalFn goal,
         service::mig::NodeGoalFn modes,
         service::mig::HookRunner hooks,
         service::mig::BootSelection selection)
      : invocation_(invocation),
        selection_(std::move(selection)),
        goal_(std::move(goal)),
        modes_(std::move(modes)),
        hooks_(std::move(hooks)),
        reader_(Reading()),
        control_(Reading()) {}

  Outcome Run() {
    StopOnSignals();
    const Result<service::mig::ChangeLock> lock = service::mig::ChangeLock::Acquire(
        {.command = std::string(kMigPartedName), .wait = true, .stop = &StopFlag()});
    if (!lock.ok()) return Fail(lock.error(), kExitBlocked);
    if (const Result<void> hook = hooks_.Run("apply-start"); !hook.ok()) return Fail(hook.error());
    Outcome outcome = Middle();
    Release();
    // It undoes what apply-start did: it runs whatever happened, and hides no earlier failure. A
    // stop was heard by now; the next one is for this hook.
    StopFlag().store(false);
    if (const Result<void> hook = hooks_.Run("apply-exit"); !hook.ok() && !outcome) {
      outcome = Fail(hook.error());
    }
    if (Lasts(outcome) && !invocation_.Has("mode-only")) {
      for (const std::string& warning : service::mig::KeepSelection(selection_)) Warn(warning);
    }
    return outcome;
  }

 private:
  Outcome Middle() {
    Outcome outcome = Step(true, "pre-apply-mode");
    if (!outcome && !invocation_.Has("mode-only")) outcome = Step(false, "pre-apply-config");
    // Only now: between the steps a GPU is empty, and a reboot must not bring that back.
    if (Lasts(outcome)) Remember();
    return outcome;
  }

  void Remember() const {
    if (applied_) WarnUnlessRemembered(service::mig::RememberApplied(*applied_, goal_));
    if (awaited_) WarnUnlessRemembered(service::mig::RememberAwaited(*awaited_, goal_, tried_));
  }

  // Modes, or everything; the hook runs only when there is something to change.
  Outcome Step(bool modes, std::string_view hook_point) {
    model::Inventory node;
    Outcome unread = ReadNode(reader_, node);
    if (unread && modes && modes_ && NeedsPci(Reading(), node)) return StepThroughPci(hook_point);
    if (unread) return unread;
    const Result<service::mig::NodeGoal> goal = goal_(node);
    if (!goal.ok()) return Fail(goal.error(), kExitInvalidInput);
    const auto differences = service::mig::Differences(node, *goal, modes);
    if (!differences.ok()) return Fail(differences.error());
    Debug("{} of {} GPUs have other {}", differences->size(), goal->size(),
          modes ? "modes" : "devices");
    if (differences->empty() && (modes || AtTheirPlaces(node, *goal))) {
      if (!modes) applied_ = std::move(node);
      return std::nullopt;
    }
    Release();  // programs that hooks stop or start may need the GPUs for themselves
    if (const Result<void> hook = hooks_.Run(hook_point); !hook.ok()) return Fail(hook.error());
    return Apply(modes);
  }

  // Modes while no driver is loaded.
  Outcome StepThroughPci(std::string_view hook_point) {
    const hw::PciMigOptions pci = PciOptions(Reading());
    const Result<model::Inventory> node = service::mig::LookWithoutDriver(pci);
    if (!node.ok()) return Fail(node.error());
    const Result<service::mig::NodeGoal> goal = modes_(*node);
    if (!goal.ok()) return Fail(goal.error(), kExitInvalidInput);
    const std::vector<std::string> why = service::mig::OutOfReach(*node, *goal);
    if (why.empty()) {
      const auto differences = service::mig::Differences(*node, *goal, true);
      if (!differences.ok()) return Fail(differences.error());
      if (differences->empty()) return std::nullopt;
    }
    if (!why.empty() && why.size() == goal->size()) {
      return Failure{base::Join(why, "; "), kExitNoDriver};
    }
    if (const Result<void> hook = hooks_.Run(hook_point); !hook.ok()) return Fail(hook.error());
    const bool skip_reset = invocation_.Has("skip-reset");
    const Result<service::mig::ApplyReport> report = service::mig::ApplyModesWithoutDriver(
        *node, *goal, skip_reset, pci, DebugProgress(), StopFlag());
    if (!report.ok()) return Fail(report.error());
    return OutcomeOf(*report, skip_reset);
  }

  static bool AtTheirPlaces(const model::Inventory& node, const service::mig::NodeGoal& goal) {
    for (const service::mig::GpuTarget& target : goal) {
      if (target.exact && !service::mig::IsApplied(node, target)) return false;
    }
    return true;
  }

  Outcome Apply(bool modes) {
    applied_.reset();
    awaited_.reset();
    const service::mig::ApplyOptions options{.skip_reset = invocation_.Has("skip-reset"),
                                             .mode_only = modes};
    Result<service::mig::ApplyReport> report =
        service::mig::Apply(reader_, control_, goal_, options, DebugProgress(), &StopFlag());
    if (!report.ok()) {
      const ErrorCode code = report.error().code();
      return Fail(report.error(), code == ErrorCode::kBusy       ? kExitBlocked
                                  : code == ErrorCode::kConflict ? kExitInvalidInput
                                                                 : kExitError);
    }
    Outcome outcome = OutcomeOf(*report, modes && options.skip_reset);
    if (report->applied) {
      applied_ = std::move(report->after);
    } else if (report->reset_required) {
      awaited_ = std::move(report->after);
      tried_ = invocation_.Has("mode-only") ? service::mig::Tried::kModesAlone
               : modes                      ? service::mig::Tried::kModesFirst
                                            : service::mig::Tried::kEverything;
    }
    return outcome;
  }

  // A mode that waits for the reset that was not wanted (`may_wait`) is what was asked for.
  static Outcome OutcomeOf(const service::mig::ApplyReport& report, bool may_wait) {
    if (report.applied || (may_wait && report.errors.empty())) return std::nullopt;
    if (!report.errors.empty()) {
      return Failure{base::Join(report.errors, "; "), ResultStatus(report)};
    }
    return Failure{"a GPU reset or a reboot is required", ResultStatus(report)};
  }

  [[nodiscard]] service::mig::Progress DebugProgress() const {
    if (!invocation_.Has("debug")) return {[](const auto&, const auto&, bool) {}};
    return ShowSteps();
  }

  template <typename... Args>
  void Debug(fmt::format_string<Args...> text, Args&&... args) const {
    if (!invocation_.Has("debug")) return;
    PrintLog(Level::kDebug, fmt::format(text, std::forward<Args>(args)...));
  }

  void Release() {
    reader_.Release();
    control_.Release();
  }

  const Invocation& invocation_;
  const service::mig::BootSelection selection_;
  service::mig::NodeGoalFn goal_, modes_;
  service::mig::HookRunner hooks_;
  // The node after the last step, to be remembered: as wanted, or with modes that wait.
  std::optional<model::Inventory> applied_, awaited_;
  service::mig::Tried tried_ = service::mig::Tried::kEverything;  // of awaited_
  hw::InventoryReader reader_;
  hw::MigControl control_;
};

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
      PrintLog(Level::kDebug, fmt::format("{}: {}", point, command));
    };
  }
  return service::mig::HookRunner(std::move(hooks), std::move(around));
}

}  // namespace

Outcome Changed(const Invocation& invocation,
                const std::vector<Option>& options,
                const service::mig::BootSelection& selection,
                service::mig::NodeGoalFn goal,
                service::mig::NodeGoalFn modes) {
  Result<service::mig::HookRunner> hooks = LoadHooks(invocation, options);
  if (!hooks.ok()) return Fail(hooks.error(), kExitInvalidInput);
  return Change(invocation, std::move(goal), std::move(modes), *std::move(hooks), selection).Run();
}

}  // namespace partita::cli::parted
