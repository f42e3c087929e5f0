#include "service/mig/apply.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/unread.h"
#include "service/mig/carry_out.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {
namespace {

using model::Inventory;

base::Error PlanError(base::ErrorCode code, const Inventory& inventory, const NodePlan& plan) {
  std::vector<std::string> lines;
  for (const GpuOutcome& outcome : plan.gpus)
    for (std::string& line : Reasons(inventory, outcome)) lines.push_back(std::move(line));
  return base::MakeError(code, "{}", fmt::join(lines, "\n"));
}

GpuWork MakeWork(const GpuOutcome& outcome) {
  GpuWork work;
  work.gpu = outcome.gpu;
  work.geometry = outcome.geometry;
  work.steps = Steps(std::get<model::GpuPlan>(outcome.plan));
  return work;
}

// The profile no longer offers this place, unless something is there already.
void TakeAway(const model::PlacedInstance& place, model::Mig& mig) {
  if (place.profile >= mig.profiles.size()) return;
  std::erase_if(mig.profiles[place.profile].placements,
                [&](const model::Placement& each) { return each.start == place.start; });
}

// A GPU instance, or a compute instance of one.
using Part = std::pair<model::GpuInstanceId, std::optional<model::ComputeInstanceId>>;

std::optional<Part> DestroyedBy(const model::PlanStep& step) {
  if (step.kind == model::StepKind::kDestroyInstance) return Part(*step.instance, std::nullopt);
  if (step.kind == model::StepKind::kDestroyCompute) return Part(*step.instance, step.compute);
  return std::nullopt;
}

// What is on a GPU and stays there while these steps are done.
std::set<Part> Staying(const model::Gpu& gpu, const std::vector<model::PlanStep>& steps) {
  std::set<Part> parts;
  if (!gpu.mig) return parts;
  for (const model::GpuInstance& instance : gpu.mig->instances) {
    parts.emplace(instance.id, std::nullopt);
    for (const model::ComputeInstance& compute : instance.compute_instances)
      parts.emplace(instance.id, compute.id);
  }
  for (const model::PlanStep& step : steps)
    if (const std::optional<Part> part = DestroyedBy(step)) parts.erase(*part);
  return parts;
}

// Worth a second plan: the place may be the reason. Not what somebody uses, nor what hangs.
bool MayBePlannedAgain(const GpuWork& work) {
  return work.failure && work.failure->place &&
         work.failure->error.code() != base::ErrorCode::kTimeout;
}

class Application {
 public:
  Application(hw::InventoryReader& reader,
              hw::MigControl& control,
              const NodeGoalFn& goal,
              const ApplyOptions& options,
              const Progress& progress,
              const std::atomic<bool>* stop)
      : reader_(reader),
        control_(control),
        goal_(goal),
        options_(options),
        stop_(stop),
        carry_out_(control, options, progress) {}

  base::Result<ApplyReport> Run() {
    look_ = reader_.Read();
    if (!look_.driver) return model::WhyNoDriver(look_);
    TRY(goal, Goal());
    NodePlan plan = PlanNode(look_, goal, options_.pinned);
    if (options_.skip_reset) plan = WithoutResets(std::move(plan));
    if (plan.Refused()) return PlanError(base::ErrorCode::kConflict, look_, plan);
    if (plan.Blocked()) return PlanError(base::ErrorCode::kBusy, look_, plan);
    if (options_.agreed && *options_.agreed != AllSteps(plan)) return Outdated();
    for (const GpuOutcome& outcome : plan.gpus) {
      if (std::get<model::GpuPlan>(outcome.plan).ChangesNothing()) continue;
      works_.push_back(MakeWork(outcome));
      reports_.push_back({works_.back().gpu});
      before_.push_back(AsItIs(*FindGpu(look_, outcome.gpu)));
      later_.push_back(std::get<model::GpuPlan>(outcome.plan).instances_later);
      staying_.push_back(Staying(*FindGpu(look_, outcome.gpu), works_.back().steps));
    }
    if (!works_.empty()) {
      // A mode must not be left waiting for a reset that cannot come.
      if (plan.NeedsReset()) TRY_VOID(control_.MayReset());
      if (options_.gate) TRY_VOID(options_.gate(look_, AllSteps(plan)));
      Change();
    }
    return Report();
  }

 private:
  base::Result<NodeGoal> Goal() const {
    TRY(goal, goal_(look_));
    return options_.mode_only ? ModeOnly(look_, goal) : std::move(goal);
  }

  base::Result<ApplyReport> Outdated() {
    ApplyReport report;
    report.outdated = true;
    report.after = std::move(look_);
    return report;
  }

  void Change() {
    bool finished = carry_out_.Run(works_, stop_);
    look_ = reader_.Read();
    if (finished) finished = MakeInstances();
    if (finished) finished = Retry();
    stopped_ = !finished;
    for (std::size_t i = 0; i < works_.size(); ++i) {
      const GpuWork& work = works_[i];
      if (work.failure) NoteFailure(i);
      if (work.EndIsUnknown()) {
        reports_[i].end = GpuEnd::kUnknown;
        continue;
      }
      // A mode that waits for a reset was accepted: a reset or reboot completes it.
      const bool undo = finished ? work.failure && !work.mode_pending : true;
      if (undo && work.touched) PutBack(i);
    }
  }

  // What the driver tells only now that MIG is on. True unless it was stopped.
  bool MakeInstances() {
    if (std::find(later_.begin(), later_.end(), true) == later_.end()) return true;
    const base::Result<NodeGoal> goal = Goal();
    bool finished = true;
    for (std::size_t i = 0; i < works_.size() && finished; ++i) {
      GpuWork& work = works_[i];
      if (!later_[i] || work.failure || work.mode_pending) continue;
      if (!goal.ok()) {
        work.failure = StepFailure{"plan its instances", goal.error(), std::nullopt};
        continue;
      }
      const auto mine = [&](const GpuTarget& target) {
        return work.gpu.Is(target.gpu) && !target.instances_later;
      };
      const auto target = std::find_if(goal->begin(), goal->end(), mine);
      if (target == goal->end()) continue;
      const NodePlan plan = PlanNode(look_, {*target}, options_.pinned);
      if (plan.Refused() || plan.Blocked()) {
        work.failure = StepFailure{
            "plan its instances", PlanError(base::ErrorCode::kConflict, look_, plan), std::nullopt};
        continue;
      }
      std::vector<GpuWork> rest = {MakeWork(plan.gpus.front())};
      finished = carry_out_.Run(rest, stop_);
      if (rest.front().failure) {
        // Its places are of the new geometry.
        work.geometry = rest.front().geometry;
        work.failure = rest.front().failure;
      }
    }
    // Also when it was stopped: who goes back must see what was made.
    look_ = reader_.Read();
    return finished;
  }

  // Once more, without the places at which something could not be created. True unless it was
  // stopped.
  bool Retry() {
    for (std::size_t i = 0; i < works_.size(); ++i) {
      GpuWork& work = works_[i];
      if (!MayBePlannedAgain(work)) continue;
      const std::optional<NodePlan> plan = PlanAround(work);
      if (!plan || plan->Refused() || plan->Blocked()) continue;
      std::vector<GpuWork> again;
      if (!plan->gpus.empty()) again.push_back(MakeWork(plan->gpus.front()));
      if (!again.empty() && !IsAgreedTo(i, again.front())) continue;
      const bool finished = carry_out_.Run(again, stop_);
      look_ = reader_.Read();
      const bool failed = !again.empty() && again.front().failure;
      // Also when it was stopped: who goes back must know.
      const bool unknown = failed && again.front().EndIsUnknown();
      if (!finished && !unknown) return false;
      if (failed) NoteFailure(i);
      work.failure = failed ? again.front().failure : std::nullopt;
      if (!finished) return false;
    }
    return true;
  }

  // A second plan may place what comes elsewhere, and destroy what the first one made, but what
  // somebody was shown as staying stays.
  bool IsAgreedTo(std::size_t i, const GpuWork& again) {
    if (!options_.agreed) return true;
    const auto takes =
        std::find_if(again.steps.begin(), again.steps.end(), [&](const model::PlanStep& step) {
          const std::optional<Part> part = DestroyedBy(step);
          return part && staying_[i].contains(*part);
        });
    if (takes == again.steps.end()) return true;
    NoteFailure(i);
    works_[i].failure = StepFailure{
        "plan it once more",
        base::MakeError(base::ErrorCode::kConflict,
                        "the other plan would {}, which the one that was agreed to leaves there",
                        ToString(again.geometry, *takes))
            .WithHint("if that may go, apply a layout without it first, then this one"),
        std::nullopt};
    return false;
  }

  std::optional<NodePlan> PlanAround(const GpuWork& work) const {
    const base::Result<NodeGoal> goal = Goal();
    Inventory without = look_;
    model::Gpu* gpu = FindGpu(without, work.gpu);
    if (gpu == nullptr || !gpu->mig || !goal.ok()) return std::nullopt;
    TakeAway(*work.failure->place, *gpu->mig);
    NodeGoal part;
    std::copy_if(goal->begin(), goal->end(), std::back_inserter(part),
                 [&](const GpuTarget& target) { return work.gpu.Is(target.gpu); });
    return PlanNode(without, part, options_.pinned);
  }

  void PutBack(std::size_t i) {
    const model::Gpu* gpu = FindGpu(look_, works_[i].gpu);
    // A look that failed in part says nothing; the next may say more.
    if (gpu != nullptr && !CheckRead(*gpu).ok()) look_ = reader_.Read();
    NoteWhatIsThere(i, GoBack(before_[i]));
  }

  // Why it cannot be, or is not, as it was.
  std::optional<base::Error> GoBack(const GpuTarget& target) {
    const NodePlan plan = PlanNode(look_, {target}, options_.pinned);
    if (plan.Refused() || plan.Blocked()) {
      return base::MakeError(plan.Refused() ? base::ErrorCode::kConflict : base::ErrorCode::kBusy,
                             "{}", fmt::join(Reasons(look_, plan.gpus.front()), "; "));
    }
    std::vector<GpuWork> back = {MakeWork(plan.gpus.front())};
    (void)carry_out_.Run(back, nullptr);  // a stop is what may have sent it here
    look_ = reader_.Read();
    std::optional<StepFailure>& failure = back.front().failure;
    if (!failure) return std::nullopt;
    return std::move(failure->error).Within(failure->step);
  }

  void NoteWhatIsThere(std::size_t i, std::optional<base::Error> reason) {
    GpuReport& report = reports_[i];
    if (reason && hw::EndIsUnknown(*reason)) {
      report.end = GpuEnd::kUnknown;
      report.failures.push_back({"put it back", *std::move(reason), {}});
    } else if (FindGpu(look_, report.gpu) == nullptr) {
      report.end = GpuEnd::kGone;
    } else if (IsApplied(look_, before_[i])) {
      works_[i].mode_pending = false;  // nothing waits for a reset any more
      report.end = GpuEnd::kPutBack;
    } else {
      report.end = GpuEnd::kLeft;
      report.why_left = std::move(reason);
    }
  }

  // Who holds a GPU is known from the look after the failure.
  void NoteFailure(std::size_t i) {
    const GpuWork& work = works_[i];
    reports_[i].end = GpuEnd::kFailed;
    GpuFailure failure{work.failure->step, work.failure->error, {}};
    const model::Gpu* gpu = FindGpu(look_, work.gpu);
    const bool busy = work.failure->error.code() == base::ErrorCode::kBusy;
    if (gpu != nullptr && busy) failure.holders = GpuHolders::Of(*gpu);
    reports_[i].failures.push_back(std::move(failure));
  }

  void NoteWaiting(std::size_t i) {
    GpuReport& report = reports_[i];
    if (report.end == GpuEnd::kDone || report.end == GpuEnd::kFailed) report.end = GpuEnd::kWaiting;
    const model::Gpu* gpu = FindGpu(look_, report.gpu);
    // A mode that waits for a reset waits for these to end, too.
    if (gpu != nullptr && !works_[i].failure) report.holders = GpuHolders::Of(*gpu);
  }

  base::Result<ApplyReport> Report() {
    ApplyReport report;
    const base::Result<NodeGoal> goal = Goal();
    report.applied = goal.ok() && IsApplied(look_, *goal);
    report.stopped = stopped_;
    for (std::size_t i = 0; i < works_.size(); ++i) {
      report.reset_required |= works_[i].mode_pending;
      if (works_[i].mode_pending) NoteWaiting(i);
      if (works_[i].touched || works_[i].mode_pending) {
        report.gpus.push_back(std::move(reports_[i]));
      }
    }
    const bool failed = report.Failed();
    if (!goal.ok() && !failed) report.goal_error = goal.error();
    if (!report.applied && goal.ok() && !failed && !report.reset_required) {
      NoteDifferences(*goal, report);
    }
    report.after = std::move(look_);
    return report;
  }

  // Every call succeeded, and yet: somebody else changed it, or the driver told a tale.
  void NoteDifferences(const NodeGoal& goal, ApplyReport& report) const {
    for (const GpuTarget& target : goal) {
      if (IsApplied(look_, target)) continue;
      const auto known =
          std::find_if(report.gpus.begin(), report.gpus.end(),
                       [&](const GpuReport& each) { return each.gpu.Is(target.gpu); });
      if (known != report.gpus.end()) {
        known->end = GpuEnd::kOtherwise;
      } else {
        report.gpus.push_back({target.gpu, GpuEnd::kOtherwise});
      }
    }
  }

  hw::InventoryReader& reader_;
  hw::MigControl& control_;
  const NodeGoalFn& goal_;
  const ApplyOptions& options_;
  const std::atomic<bool>* stop_;
  CarryOut carry_out_;

  Inventory look_;  // the last one
  std::vector<GpuWork> works_;
  std::vector<GpuTarget> before_;  // of each work: what to go back to
  std::vector<bool> later_;        // of each work: its instances can be planned once its mode is on
  std::vector<std::set<Part>> staying_;  // of each work: what its plan leaves there
  std::vector<GpuReport> reports_;       // of each work
  bool stopped_ = false;
};

}  // namespace

base::Result<ApplyReport> Apply(hw::InventoryReader& reader,
                                hw::MigControl& control,
                                const NodeGoalFn& goal,
                                const ApplyOptions& options,
                                const Progress& progress,
                                std::atomic<bool>* stop) {
  return Application(reader, control, goal, options, progress, stop).Run();
}

}  // namespace partita::service::mig
