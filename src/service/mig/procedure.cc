#include "service/mig/procedure.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "model/unread.h"
#include "service/mig/applied.h"
#include "service/mig/awaited.h"
#include "service/mig/differences.h"
#include "service/mig/modes_without_driver.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {
namespace {

using base::Result;

ChangeEnd ChangeFailed(base::Error error, ChangeStatus status) {
  ChangeEnd end;
  end.status = status;
  end.error = std::move(error);
  return end;
}

ChangeEnd ChangeFailed(const base::Error& error) { return ChangeFailed(error, StatusOf(error)); }

ChangeEnd EndOf(ApplyReport report) {
  ChangeEnd end;
  end.status = report.applied          ? ChangeStatus::kDone
               : report.outdated       ? ChangeStatus::kUndecided
               : report.reset_required ? ChangeStatus::kResetRequired
                                       : ChangeStatus::kNotApplied;
  end.report = std::move(report);
  return end;
}

ApplyReport UnchangedReport(model::Inventory node) {
  ApplyReport report;
  report.after = std::move(node);
  return report;
}

// What no layout does is wrong input as a name is that nobody knows.
base::Error Invalid(base::Error error) {
  if (error.code() != base::ErrorCode::kConflict) return error;
  return std::move(error).As(base::ErrorCode::kInvalid);
}

// What waits for a reboot is finished by that boot.
bool Lasts(const ChangeEnd& end) {
  return end.Done() || end.status == ChangeStatus::kResetRequired;
}

}  // namespace

ChangeStatus StatusOf(const base::Error& error) {
  switch (error.code()) {
    case base::ErrorCode::kInvalid:
    case base::ErrorCode::kConflict: return ChangeStatus::kInvalid;
    case base::ErrorCode::kBusy: return ChangeStatus::kBlocked;
    case base::ErrorCode::kNoDriver: return ChangeStatus::kNoDriver;
    case base::ErrorCode::kNotApplied: return ChangeStatus::kNotApplied;
    case base::ErrorCode::kResetRequired: return ChangeStatus::kResetRequired;
    case base::ErrorCode::kUnavailable:
    case base::ErrorCode::kNotFound:
    case base::ErrorCode::kUnsupported:
    case base::ErrorCode::kDenied:
    case base::ErrorCode::kTimeout:
    case base::ErrorCode::kIo:
    case base::ErrorCode::kInternal: return ChangeStatus::kFailed;
  }
  return ChangeStatus::kFailed;
}

// What one run keeps between its steps.
class ChangeProcedure::Once {
 public:
  Once(ChangeProcedure& owner, const ChangeOrder& order) : owner_(owner), order_(order) {}

  ChangeEnd Run() {
    std::optional<ChangeLock> lock;
    if (order_.lock) {
      Result<ChangeLock> acquired = ChangeLock::Acquire(*order_.lock);
      if (!acquired.ok()) return ChangeFailed(acquired.error(), ChangeStatus::kBlocked);
      lock.emplace(*std::move(acquired));
    }
    if (const Result<void> hook = RunHooks("apply-start"); !hook.ok()) {
      return ChangeFailed(hook.error(), ChangeStatus::kFailed);
    }
    ChangeEnd end = Steps();
    // Only now: between the steps a GPU is empty, and a reboot must not bring that back.
    if (Lasts(end)) KeepForReboot();
    RunLastHooks(end);
    if (Lasts(end) && order_.selection && !order_.options.mode_only) {
      for (std::string& warning : KeepSelection(*order_.selection)) Warn(std::move(warning));
    }
    end.warnings = std::move(warnings_);
    return end;
  }

 private:
  ChangeEnd Steps() {
    if (!order_.in_steps) return Step(order_.options.mode_only, "");
    ChangeEnd end = Step(true, "pre-apply-mode");
    const bool goes_on = end.Done() || MayWait(end);
    if (!goes_on || order_.options.mode_only) {
      if (goes_on) end.status = ChangeStatus::kDone;
      return end;
    }
    if (end.report) {
      for (const std::string& error : ErrorTexts(*end.report)) Warn(error);
    }
    return Step(false, "pre-apply-config");
  }

  // A mode that waits for the reset that was not wanted is what was asked for.
  [[nodiscard]] bool MayWait(const ChangeEnd& end) const {
    return order_.options.skip_reset && end.report && !end.report->Failed();
  }

  // Modes, or everything.
  ChangeEnd Step(bool modes, std::string_view hook_point) {
    model::Inventory node = owner_.reader_.Read();
    if (!node.driver) return WithoutDriver(modes, node, hook_point);
    pinned_ = order_.guards.pinned ? order_.guards.pinned(node) : order_.options.pinned;
    if (order_.agree) {
      Agreement agreement = order_.agree(node, pinned_);
      if (!agreement.agreed) return Undecided(std::move(node));
      agreed_ = std::move(agreement.steps);
    }
    const Result<NodeGoal> goal = order_.goal(node);
    if (!goal.ok()) return ChangeFailed(goal.error(), ChangeStatus::kInvalid);
    if (order_.in_steps) {
      const auto differences = Differences(node, *goal, modes);
      if (!differences.ok()) return ChangeFailed(differences.error(), ChangeStatus::kFailed);
      Debug(fmt::format("{} of {} GPUs have other {}", differences->size(), goal->size(),
                        modes ? "modes" : "devices"));
      const bool same = modes ? differences->empty() : IsApplied(node, *goal);
      if (same) return AsWanted(std::move(node), modes);
    }
    if (const Result<void> ready = Prepare(modes, hook_point); !ready.ok()) {
      return ChangeFailed(ready.error(), ChangeStatus::kFailed);
    }
    return Change(modes);
  }

  static ChangeEnd Undecided(model::Inventory node) {
    ApplyReport report = UnchangedReport(std::move(node));
    report.outdated = true;
    return EndOf(std::move(report));
  }

  ChangeEnd AsWanted(model::Inventory node, bool modes) {
    if (!modes) applied_ = node;
    ApplyReport report = UnchangedReport(std::move(node));
    report.applied = true;
    return EndOf(std::move(report));
  }

  // Programs that are stopped or started around a change may need the GPUs for themselves.
  Result<void> Prepare(bool modes, std::string_view hook_point) {
    if (modes && order_.before_modes) {
      const auto lease = owner_.LetGo();
      TRY_VOID(order_.before_modes());
    }
    return RunHooks(hook_point);
  }

  ChangeEnd Change(bool modes) {
    applied_.reset();
    awaited_.reset();
    ApplyOptions options = order_.options;
    options.mode_only = modes;
    options.agreed = agreed_;
    options.pinned = pinned_;
    if (order_.guards.gate) options.gate = order_.guards.gate;
    Result<ApplyReport> report =
        Apply(owner_.reader_, owner_.control_, order_.goal, options, order_.progress, order_.stop);
    if (!report.ok()) return ChangeFailed(Invalid(report.error()));
    if (report->applied) {
      applied_ = report->after;
    } else if (report->reset_required) {
      awaited_ = report->after;
      tried_ = order_.options.mode_only ? Tried::kModesAlone
               : modes                  ? Tried::kModesFirst
                                        : Tried::kEverything;
    }
    return EndOf(*std::move(report));
  }

  ChangeEnd WithoutDriver(bool modes, const model::Inventory& node, std::string_view hook_point) {
    const bool through_pci = NeedsPci(owner_.options_, node);
    ChangeEnd end;
    if (modes && order_.modes && through_pci) {
      end = ModesThroughPci(hook_point);
    } else {
      end = ChangeFailed(model::WhyNoDriver(node));
    }
    end.driver_loaded = !through_pci;
    return end;
  }

  ChangeEnd ModesThroughPci(std::string_view hook_point) {
    const hw::PciMigOptions pci = PciOptions(owner_.options_);
    Result<model::Inventory> node = LookWithoutDriver(pci);
    if (!node.ok()) return ChangeFailed(node.error(), ChangeStatus::kFailed);
    const Result<NodeGoal> goal = order_.modes(*node);
    if (!goal.ok()) return ChangeFailed(goal.error(), ChangeStatus::kInvalid);
    const std::vector<GpuReport> why = OutOfReach(*node, *goal);
    if (order_.in_steps && why.empty()) {
      const auto differences = Differences(*node, *goal, true);
      if (!differences.ok()) return ChangeFailed(differences.error(), ChangeStatus::kFailed);
      if (differences->empty()) return AsWanted(*std::move(node), true);
    }
    const bool none_in_reach = !why.empty() && why.size() == goal->size();
    if (none_in_reach && order_.in_steps) {
      return ChangeFailed(
          base::Error(base::ErrorCode::kNoDriver, base::Join(ErrorTexts(why, *node), "; ")),
          ChangeStatus::kNoDriver);
    }
    if (const Result<void> hook = RunHooks(hook_point); !hook.ok()) {
      return ChangeFailed(hook.error(), ChangeStatus::kFailed);
    }
    if (order_.through_pci) order_.through_pci();
    Result<ApplyReport> report = ApplyModesWithoutDriver(*node, *goal, order_.options.skip_reset,
                                                         pci, order_.progress, *order_.stop);
    if (!report.ok()) return ChangeFailed(report.error(), ChangeStatus::kFailed);
    ChangeEnd end = EndOf(*std::move(report));
    // Something failed: that a reset is still to come says less.
    if (!end.Done() && end.report->Failed()) end.status = ChangeStatus::kNotApplied;
    if (none_in_reach) end.status = ChangeStatus::kNoDriver;
    return end;
  }

  void KeepForReboot() {
    const auto keep = [&](const Result<void>& kept) {
      if (kept.ok()) return;
      Warn("this will not come back after a reboot: " + kept.error().ToString());
    };
    if (applied_ && order_.remember != Remember::kNothing) {
      keep(RememberApplied(*applied_, order_.goal));
    }
    if (awaited_ && order_.remember == Remember::kAwaited) {
      keep(RememberAwaited(*awaited_, order_.goal, tried_));
    }
  }

  // They undo what the first did: they run whatever happened, and hide no earlier failure. A stop
  // was heard by now; the next one is for them.
  void RunLastHooks(ChangeEnd& end) {
    if (!order_.hooks) return;
    if (order_.stop != nullptr) order_.stop->store(false);
    const Result<void> hook = RunHooks("apply-exit");
    if (hook.ok() || !end.Done()) return;
    end.status = ChangeStatus::kFailed;
    end.error = hook.error();
  }

  Result<void> RunHooks(std::string_view point) const {
    if (!order_.hooks || !order_.hooks->Has(point)) return {};
    const auto lease = owner_.LetGo();
    return order_.hooks->Run(point);
  }

  void Debug(const std::string& line) const {
    if (order_.debug) order_.debug(line);
  }
  void Warn(std::string text) { warnings_.push_back(std::move(text)); }

  ChangeProcedure& owner_;
  const ChangeOrder& order_;
  std::optional<std::vector<GpuSteps>> agreed_;
  model::PinnedParts pinned_;  // of the last look
  // The node after the last step, to be remembered: as wanted, or with modes that wait.
  std::optional<model::Inventory> applied_, awaited_;
  Tried tried_ = Tried::kEverything;  // of awaited_
  std::vector<std::string> warnings_;
};

ChangeProcedure::ChangeProcedure(const hw::ReaderOptions& options,
                                 std::shared_ptr<hw::nvml::Driver> driver)
    : options_(options),
      own_(driver == nullptr),
      driver_(own_ ? hw::MakeDriver(options) : std::move(driver)),
      reader_(driver_, options),
      control_(driver_) {}

ChangeEnd ChangeProcedure::Run(const ChangeOrder& order) { return Once(*this, order).Run(); }

// Others would open it again while it is needed closed. Where a call keeps it open the programs run
// all the same, as beside any other user of the GPUs.
std::optional<hw::nvml::Driver::Lease> ChangeProcedure::LetGo() {
  if (own_) {
    Release();
    return std::nullopt;
  }
  base::Result<hw::nvml::Driver::Lease> lease = driver_->Exclusive();
  if (!lease.ok()) return std::nullopt;
  return *std::move(lease);
}

void ChangeProcedure::Release() {
  if (!own_) return;
  // One that cannot be closed now is closed later; what needs it closed asks for itself and says
  // so.
  (void)driver_->Release();
}

}  // namespace partita::service::mig
