#include "service/mig/goal_source.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "model/gpu_selection.h"
#include "model/unread.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {

namespace {

// The GPUs that are named, or all.
struct Choice {
  bool all = true;
  std::vector<model::GpuIdentity> gpus = {};

  [[nodiscard]] bool Has(const model::GpuIdentity& gpu) const {
    return all || std::find(gpus.begin(), gpus.end(), gpu) != gpus.end();
  }
  [[nodiscard]] bool Has(const model::Gpu& gpu) const { return Has(model::GpuIdentity::Of(gpu)); }
};

base::Result<Choice> Chosen(const model::Inventory& node, const std::vector<std::string>& gpus) {
  Choice choice;
  if (gpus.empty()) return choice;
  choice.all = false;
  TRY(selected, model::SelectGpus(node, gpus));
  for (const model::Gpu& gpu : selected.gpus) choice.gpus.push_back(model::GpuIdentity::Of(gpu));
  return choice;
}

}  // namespace

base::Result<WantedGoal> WantedGoal::Parse(GoalSource source) {
  WantedGoal goal(std::move(source));
  const GoalSource& from = goal.source_;
  switch (from.kind) {
    case GoalKind::kWords: {
      TRY(wanted, WantedText::Parse(from.text));
      goal.wanted_ = std::move(wanted);
      break;
    }
    case GoalKind::kFile: {
      TRY(file, config::MigConfigFile::Parse(from.text, from.file));
      goal.file_ = std::make_shared<const config::MigConfigFile>(std::move(file));
      TRY(config, goal.file_->Select(from.config));
      goal.config_ = config;
      break;
    }
    case GoalKind::kCheckpoint: {
      TRY(checkpoint, Checkpoint::Parse(from.text, from.file));
      goal.checkpoint_ = std::make_shared<const Checkpoint>(std::move(checkpoint));
      break;
    }
  }
  if (from.as_reference && goal.wanted_) {
    return base::Error(base::ErrorCode::kInvalid, "nvidia-mig-parted takes no words");
  }
  return goal;
}

base::Result<NodeGoal> WantedGoal::ResolveWords(const model::Inventory& node) const {
  NodeGoal goal;
  TRY(chosen, Chosen(node, source_.gpus));
  for (const model::Gpu& gpu : node.gpus) {
    if (!chosen.Has(gpu)) continue;
    const model::GpuIdentity identity = model::GpuIdentity::Of(gpu);
    if (gpu.mig_error && (gpu.mig || gpu.faults.empty())) {
      TRY_VOID(CheckRead(gpu));
    }
    if (!gpu.mig) {
      // Whoever names a GPU must hear that it cannot; the others of the node are passed over.
      if (!source_.gpus.empty()) goal.push_back({identity, {wanted_->enabled, {}}});
      continue;
    }
    if (wanted_->enabled && !wanted_->entries.empty() && !model::TellsInstances(*gpu.mig)) {
      goal.push_back({identity, {true, {}}});
      goal.back().instances_later = true;
      continue;
    }
    TRY(target, ResolveWanted(*wanted_, gpu));
    goal.push_back({identity, std::move(target)});
  }
  return goal;
}

base::Result<NodeGoal> WantedGoal::ResolveModes(const model::Inventory& node) const {
  if (checkpoint_) {
    return base::Error(base::ErrorCode::kNoDriver, "a checkpoint needs the driver");
  }
  if (source_.as_reference) return mig::ResolveModes(*file_, *config_, node);
  TRY(chosen, Chosen(node, source_.gpus));
  NodeGoal goal;
  if (!wanted_) {
    TRY(modes, mig::ResolveModes(*file_, *config_, node));
    goal = std::move(modes);
  }
  for (const model::Gpu& gpu : node.gpus) {
    if (!wanted_) break;
    if (!gpu.mig && gpu.faults.empty() && source_.gpus.empty())
      continue;  // without MIG, and not named
    goal.push_back({model::GpuIdentity::Of(gpu), {wanted_->enabled, {}}});
  }
  std::erase_if(goal,
                [&chosen = chosen](const GpuTarget& target) { return !chosen.Has(target.gpu); });
  TRY_VOID(CheckMeant(node, goal));
  return goal;
}

bool WantedGoal::WantsMig() const {
  if (wanted_) return wanted_->enabled;
  return std::any_of(config_->specs.begin(), config_->specs.end(),
                     [](const config::MigSpec& spec) { return spec.mig_enabled; });
}

bool WantedGoal::Means(const model::Gpu& gpu) const {
  if (wanted_) return true;
  return std::any_of(config_->specs.begin(), config_->specs.end(),
                     [&](const config::MigSpec& spec) { return spec.Selects(gpu); });
}

base::Result<void> WantedGoal::CheckMeant(const model::Inventory& node,
                                          const NodeGoal& goal) const {
  if (!goal.empty()) return {};
  TRY(chosen, Chosen(node, source_.gpus));
  bool any = false;
  const model::Gpu* unread = nullptr;
  for (const model::Gpu& gpu : node.gpus) {
    if (!chosen.Has(gpu) || !Means(gpu)) continue;
    any = true;
    if (unread == nullptr && !gpu.faults.empty()) unread = &gpu;
  }
  const std::string what = wanted_ ? std::string(kWantOption)
                                   : fmt::format("configuration {}", base::Quoted(config_->name));
  if (unread != nullptr) {
    return base::MakeError(base::ErrorCode::kUnavailable, "no GPU that {} is for can be read", what)
        .WithHint(fmt::format("{}: {}", NameOf(*unread), unread->faults.front().text));
  }
  // What cannot do MIG is as a configuration says that turns it off.
  if (any && !WantsMig()) return {};
  return base::MakeError(base::ErrorCode::kInvalid, "{} is for no GPU {}{}", what,
                         source_.gpus.empty() ? "of this machine" : "that --gpu names",
                         any ? " that can do MIG" : "")
      .WithHint("`partita mig show` lists the GPUs of this machine");
}

base::Result<NodeGoal> WantedGoal::Resolve(const model::Inventory& node) const {
  if (checkpoint_) return checkpoint_->Resolve(node);
  if (source_.as_reference) return ResolveConfig(*file_, *config_, node);
  TRY(goal, wanted_ ? ResolveWords(node) : ResolveFile(node));
  TRY_VOID(CheckMeant(node, goal));
  return goal;
}

base::Result<NodeGoal> WantedGoal::ResolveFile(const model::Inventory& node) const {
  // A product has no numbers, and who chooses GPUs knows that others are left out.
  if (node.driver && source_.gpus.empty()) {
    TRY_VOID(CheckDevices(*file_, *config_, node));
  }
  TRY(goal, ResolveConfig(*file_, *config_, node));
  TRY(chosen, Chosen(node, source_.gpus));
  std::erase_if(goal,
                [&chosen = chosen](const GpuTarget& target) { return !chosen.Has(target.gpu); });
  return goal;
}

std::vector<std::string> WantedGoal::LeftOut(const model::Inventory& node,
                                             const NodeGoal& goal) const {
  std::vector<std::string> lines;
  const base::Result<Choice> chosen = Chosen(node, source_.gpus);
  if (checkpoint_ || !chosen.ok()) return lines;
  for (const model::Gpu& gpu : node.gpus) {
    const bool meant = std::any_of(goal.begin(), goal.end(),
                                   [&](const GpuTarget& target) { return target.gpu.Is(gpu); });
    if (meant || !chosen->Has(gpu) || gpu.mig || gpu.faults.empty()) continue;
    lines.push_back(fmt::format("{} is left out: {}", NameOf(gpu), gpu.faults.front().text));
  }
  return lines;
}

NodeGoalFn WantedGoal::Goal() const {
  return [self = *this](const model::Inventory& node) { return self.Resolve(node); };
}

NodeGoalFn WantedGoal::Modes() const {
  if (checkpoint_) return nullptr;
  return [self = *this](const model::Inventory& node) { return self.ResolveModes(node); };
}

}  // namespace partita::service::mig
