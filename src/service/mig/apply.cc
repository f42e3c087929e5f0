#include "service/mig/apply.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/holder.h"
#include "service/mig/carry_out.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {
namespace {

using model::Inventory;

std::optional<std::size_t> Find(const Inventory& inventory, const model::PciAddress& pci) {
  for (std::size_t i = 0; i < inventory.gpus.size(); ++i)
    if (inventory.gpus[i].pci == pci) return i;
  return std::nullopt;
}

base::Error PlanError(base::ErrorCode code, const Inventory& inventory, const NodePlan& plan) {
  std::vector<std::string> lines;
  for (const GpuOutcome& outcome : plan.gpus)
    for (std::string& line : Reasons(inventory, outcome)) lines.push_back(std::move(line));
  return base::MakeError(code, "{}", fmt::join(lines, "\n"));
}

std::vector<std::string> Holders(const model::Gpu& gpu) {
  std::vector<std::string> holders;
  for (const model::Process& process : gpu.processes) holders.push_back(model::HolderText(process));
  for (const model::HiddenHolder& holder : gpu.hidden_holders)
    holders.push_back(model::HolderText(holder));
  return holders;
}

GpuWork MakeWork(const Inventory& inventory, const GpuOutcome& outcome) {
  const model::Gpu& gpu = inventory.gpus[outcome.gpu];
  GpuWork work;
  work.pci = gpu.pci;
  work.name = NameOf(gpu);
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
        goal_(goal),
        options_(options),
        stop_(stop),
        carry_out_(reader, control, options, progress) {}

  base::Result<ApplyReport> Run() {
    look_ = reader_.Read();
    if (!look_.driver) return *look_.driver_error;
    TRY(goal, Goal());
    NodePlan plan = PlanNode(look_, goal);
    if (options_.skip_reset) plan = WithoutResets(std::move(plan));
    if (plan.Refused()) return PlanError(base::ErrorCode::kConflict, look_, plan);
    if (plan.Blocked()) return PlanError(base::ErrorCode::kBusy, look_, plan);
    if (options_.agreed && *options_.agreed != AllSteps(look_, plan)) return Outdated();
    for (const GpuOutcome& outcome : plan.gpus) {
      if (std::get<model::GpuPlan>(outcome.plan).ChangesNothing()) continue;
      works_.push_back(MakeWork(look_, outcome));
      before_.push_back(AsItIs(look_, outcome.gpu));
      later_.push_back(std::get<model::GpuPlan>(outcome.plan).instances_later);
    }
    if (!works_.empty()) Change();
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
    if (!finished) Say("stopped before it was done");
    for (std::size_t i = 0; i < works_.size(); ++i) {
      const GpuWork& work = works_[i];
      if (work.failure) SayFailure(work);
      // A mode that waits for a reset was accepted: a reset or reboot completes it.
      const bool undo = finished ? work.failure && !work.mode_pending : true;
      if (undo && work.touched) PutBack(i);
    }
  }

  // What the driver tells only now that MIG is on. True unless it was stopped.
  bool MakeInstances() {
    if (std::find(later_.begin(), later_.end(), true) == later_.end()) return true;
    const base::Result<NodeGoal> goal = Goal();
    for (std::size_t i = 0; i < works_.size(); ++i) {
      GpuWork& work = works_[i];
      if (!later_[i] || work.failure || work.mode_pending) continue;
      if (!goal.ok()) {
        work.failure = StepFailure{"plan its instances", goal.error(), std::nullopt};
        continue;
      }
      const auto mine = [&](const GpuTarget& target) {
        return look_.gpus[target.gpu].pci == work.pci && !target.instances_later;
      };
      const auto target = std::find_if(goal->begin(), goal->end(), mine);
      if (target == goal->end()) continue;
      const NodePlan plan = PlanNode(look_, {*target});
      if (plan.Refused() || plan.Blocked()) {
        work.failure = StepFailure{
            "plan its instances", PlanError(base::ErrorCode::kConflict, look_, plan), std::nullopt};
        continue;
      }
      std::vector<GpuWork> rest = {MakeWork(look_, plan.gpus.front())};
      const bool finished = carry_out_.Run(rest, stop_);
      if (rest.front().failure) {
        // Its places are of the new geometry.
        work.geometry = rest.front().geometry;
        work.failure = rest.front().failure;
      }
      if (!finished) return false;
    }
    look_ = reader_.Read();
    return true;
  }

  // Once more, without the places at which something could not be created. True unless it was
  // stopped.
  bool Retry() {
    for (GpuWork& work : works_) {
      if (!MayBePlannedAgain(work)) continue;
      const std::optional<NodePlan> plan = PlanAround(work);
      if (!plan || plan->Refused() || plan->Blocked()) continue;
      std::vector<GpuWork> again;
      if (!plan->gpus.empty()) again.push_back(MakeWork(look_, plan->gpus.front()));
      const bool finished = carry_out_.Run(again, stop_);
      look_ = reader_.Read();
      if (!finished) return false;
      const bool failed = !again.empty() && again.front().failure;
      if (failed) SayFailure(work);
      work.failure = failed ? again.front().failure : std::nullopt;
    }
    return true;
  }

  std::optional<NodePlan> PlanAround(const GpuWork& work) const {
    const std::optional<std::size_t> gpu = Find(look_, work.pci);
    const base::Result<NodeGoal> goal = Goal();
    if (!gpu || !look_.gpus[*gpu].mig || !goal.ok()) return std::nullopt;
    Inventory without = look_;
    TakeAway(*work.failure->place, *without.gpus[*gpu].mig);
    NodeGoal part;
    std::copy_if(goal->begin(), goal->end(), std::back_inserter(part),
                 [&](const GpuTarget& target) { return target.gpu == *gpu; });
    return PlanNode(without, part);
  }

  void PutBack(std::size_t i) {
    GpuWork& work = works_[i];
    std::optional<std::size_t> gpu = Find(look_, work.pci);
    if (gpu && !CheckRead(look_.gpus[*gpu]).ok()) {
      // A look that failed in part says nothing; the next may say more.
      look_ = reader_.Read();
      gpu = Find(look_, work.pci);
    }
    if (!gpu) return Say(fmt::format("{}: could not be put back: it is gone", work.name));
    GpuTarget target = before_[i];
    target.gpu = *gpu;
    const NodePlan plan = PlanNode(look_, {target});
    std::string reason;
    if (plan.Refused() || plan.Blocked()) {
      reason = fmt::format("{}", fmt::join(Reasons(look_, plan.gpus.front()), "; "));
    } else {
      std::vector<GpuWork> back = {MakeWork(look_, plan.gpus.front())};
      (void)carry_out_.Run(back, nullptr);  // a stop is what may have sent it here
      look_ = reader_.Read();
      if (back.front().failure) reason = FailureText(back.front());
    }
    SayWhatIsThere(work, target, reason);
  }

  void SayWhatIsThere(GpuWork& work, GpuTarget target, const std::string& reason) {
    const std::optional<std::size_t> gpu = Find(look_, work.pci);
    if (!gpu) return Say(fmt::format("{}: could not be put back: it is gone", work.name));
    target.gpu = *gpu;
    const std::string now = Describe(look_.gpus[*gpu]);
    if (IsApplied(look_, target)) {
      work.mode_pending = false;  // nothing waits for a reset any more
      Say(fmt::format("{}: put back as it was: {}", work.name, now));
    } else {
      Say(fmt::format("{}: could not be put back ({}); it is now {}", work.name,
                      reason.empty() ? "it does not stay as it was" : reason, now));
    }
  }

  static std::string FailureText(const GpuWork& work) {
    const base::Error& error = work.failure->error;
    return fmt::format("{}: {}", work.failure->step, error.ToString());
  }

  // Who holds a GPU is known from the look after the failure.
  void SayFailure(const GpuWork& work) {
    std::string text = fmt::format("{}: {}", work.name, FailureText(work));
    const std::optional<std::size_t> gpu = Find(look_, work.pci);
    const bool busy = work.failure->error.code() == base::ErrorCode::kBusy;
    const std::vector<std::string> holders =
        gpu && busy ? Holders(look_.gpus[*gpu]) : std::vector<std::string>();
    if (!holders.empty())
      text += fmt::format("; it is used by {}", fmt::join(holders, ", "));
    else if (!work.failure->error.hint().empty())
      text += fmt::format(": {}", work.failure->error.hint());
    Say(std::move(text));
  }

  // A mode that waits for a reset waits for these to end, too.
  void SayWhoDelays(const GpuWork& work) {
    const std::optional<std::size_t> gpu = Find(look_, work.pci);
    const std::vector<std::string> holders =
        gpu ? Holders(look_.gpus[*gpu]) : std::vector<std::string>();
    if (!holders.empty())
      waiting_.push_back(fmt::format("{}: its MIG mode is pending; a reset must wait for {}",
                                     work.name, fmt::join(holders, ", ")));
  }

  void Say(std::string text) { errors_.push_back(std::move(text)); }

  base::Result<ApplyReport> Report() {
    ApplyReport report;
    const base::Result<NodeGoal> goal = Goal();
    if (!goal.ok() && errors_.empty()) Say(goal.error().ToString());
    report.applied = goal.ok() && IsApplied(look_, *goal);
    for (const GpuWork& work : works_) {
      report.reset_required |= work.mode_pending;
      if (work.mode_pending && !work.failure) SayWhoDelays(work);
    }
    const bool told = !errors_.empty() || report.reset_required;
    if (!report.applied && goal.ok() && !told) SayDifferences(*goal);
    report.errors = std::move(errors_);
    report.waiting = std::move(waiting_);
    report.after = std::move(look_);
    return report;
  }

  // Every call succeeded, and yet: somebody else changed it, or the driver told a tale.
  void SayDifferences(const NodeGoal& goal) {
    for (const GpuTarget& target : goal) {
      if (IsApplied(look_, target)) continue;
      const model::Gpu& gpu = look_.gpus[target.gpu];
      Say(fmt::format("{}: every step succeeded, but it is now {}: is something else changing it?",
                      NameOf(gpu), Describe(gpu)));
    }
  }

  hw::InventoryReader& reader_;
  const NodeGoalFn& goal_;
  const ApplyOptions& options_;
  const std::atomic<bool>* stop_;
  CarryOut carry_out_;

  Inventory look_;  // the last one
  std::vector<GpuWork> works_;
  std::vector<GpuTarget> before_;  // of each work: what to go back to
  std::vector<bool> later_;        // of each work: its instances can be planned once its mode is on
  std::vector<std::string> errors_, waiting_;
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
