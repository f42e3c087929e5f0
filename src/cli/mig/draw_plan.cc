#include "cli/mig/draw_plan.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "cli/draw/draw_holders.h"
#include "cli/draw/draw_slices.h"
#include "cli/draw/quantity.h"
#include "cli/mig/node.h"
#include "cli/mig/show.h"
#include "model/holder.h"
#include "model/mig/after_plan.h"

namespace partita::cli {

namespace {

using model::Gpu;
using model::GpuInstance;
using model::GpuPlan;
using service::mig::GpuOutcome;
using service::mig::NodePlan;

// Gauges say nothing about a plan, and half of what is drawn does not exist yet.
Gpu WithoutMemory(Gpu gpu) {
  if (gpu.mig) {
    for (GpuInstance& instance : gpu.mig->instances) instance.memory.reset();
    for (model::GpuInstanceProfile& profile : gpu.mig->profiles) profile.remaining.reset();
  }
  return gpu;
}

bool Destroyed(const GpuPlan& plan, model::GpuInstanceId id) {
  return std::any_of(plan.layout.destroyed.begin(), plan.layout.destroyed.end(),
                     [&](const model::LiveInstance& live) { return live.id == id; });
}

// GPUs that would be drawn alike.
bool Alike(const model::Inventory& node, const GpuOutcome& a, const GpuOutcome& b) {
  const Gpu* first = model::FindGpu(node, a.gpu);
  const Gpu* second = model::FindGpu(node, b.gpu);
  if (first == nullptr || second == nullptr) return false;
  const Gpu& left = *first;
  const Gpu& right = *second;
  if (left.mig.has_value() != right.mig.has_value() || left.name != right.name) return false;
  if (left.mig && (left.mig->enabled != right.mig->enabled ||
                   left.mig->pending_enabled != right.mig->pending_enabled)) {
    return false;
  }
  return a.plan == b.plan && a.geometry == b.geometry && left.processes == right.processes &&
         left.hidden_holders == right.hidden_holders;
}

using Group = std::vector<const GpuOutcome*>;

std::vector<Group> Groups(const model::Inventory& node, const NodePlan& plan) {
  std::vector<Group> groups;
  for (const GpuOutcome& outcome : plan.gpus) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return Alike(node, *group.front(), outcome);
    });
    if (same == groups.end()) {
      groups.push_back({&outcome});
    } else {
      same->push_back(&outcome);
    }
  }
  return groups;
}

Line GroupHeading(const model::Inventory& node, const Group& group, const Look& look) {
  GpuKind kind;
  for (const GpuOutcome* outcome : group) {
    if (const auto position = model::FindPosition(node, outcome->gpu)) {
      kind.gpus.push_back(*position);
    }
  }
  if (kind.gpus.empty()) return Line().Add(group.front()->gpu.Name(), Ink::kStrong);
  return KindHeading(node, kind, look);
}

void AddPicture(
    std::string_view when, const Gpu& gpu, const SliceNote& note, const Look& look, Lines& lines) {
  const Line title = Line().PadTo(kIndent).Add(when, Ink::kFaint);
  lines.push_back(Line(title).PadTo(kIndent + 5).Add(MigModeLine(gpu, 1)));
  Append(DrawSlices(WithoutMemory(gpu), kIndent, look, note), lines);
}

void AddSteps(const GpuOutcome& outcome, const GpuPlan& plan, const Look& look, Lines& lines) {
  int number = 0;
  for (const model::PlanStep& step : model::Steps(plan)) {
    const Line first = Line().PadTo(kIndent).Add(fmt::format("{:2} ", ++number), Ink::kFaint);
    const std::string text = Clean(model::ToString(outcome.geometry, step), look.utf8);
    Append(Wrapped(first, first.width(), text, Ink::kPlain, look), lines);
  }
  if (!plan.instances_later) return;
  const Line first = Line().PadTo(kIndent).Add(fmt::format("{:2} ", ++number), Ink::kFaint);
  Append(Wrapped(
             first, first.width(),
             "plan and make the instances: this driver tells what it can make only while MIG is on",
             Ink::kPlain, look),
         lines);
}

void AddPlan(const Gpu& gpu,
             const GpuOutcome& outcome,
             const GpuPlan& plan,
             const Look& look,
             Lines& lines) {
  const auto now = [&](const GpuInstance& instance) -> std::vector<std::string> {
    const std::string_view fate = Destroyed(plan, instance.id) ? "goes" : "stays";
    return {fmt::format("GI {} {}", instance.id, fate), std::string(fate)};
  };
  const auto then = [&](const GpuInstance& instance) -> std::vector<std::string> {
    if (instance.id.value() >= model::kNewInstance) return {"new"};
    return {fmt::format("GI {} stays", instance.id), "stays"};
  };
  if (plan.ChangesNothing()) {
    AddPicture("is and stays", gpu, then, look, lines);
    return;
  }
  AddPicture("now", gpu, now, look, lines);
  AddPicture("then", model::AfterPlan(gpu, outcome.geometry, plan), then, look, lines);
  AddSteps(outcome, plan, look, lines);
  const Line mark = Line().PadTo(kIndent).Add(look.glyphs().fault, Ink::kFault).Add(" ");
  for (const model::GivenInstance& given : plan.given) {
    const std::string text = fmt::format("{} at slice {} was given to {}",
                                         outcome.geometry.profiles[given.place.profile].name,
                                         given.place.start, given.to);
    Append(Wrapped(mark, mark.width(), Clean(text, look.utf8), Ink::kFault, look), lines);
  }
  for (const std::string& to : plan.given_whole)
    Append(Wrapped(mark, mark.width(), Clean("the GPU was given to " + to, look.utf8), Ink::kFault,
                   look),
           lines);
  if (plan.blockers.empty() && plan.hidden_blockers.empty() && !plan.blockers_unknown) return;
  const bool known = !plan.blockers.empty() || !plan.hidden_blockers.empty();
  lines.push_back(Line(mark).Add(known ? "blocked until these end:" : "blocked by who may use it:",
                                 Ink::kFault));
  Gpu holders;
  holders.processes = plan.blockers;
  holders.hidden_holders = plan.hidden_blockers;
  if (plan.blockers_unknown) holders.processes_error = gpu.processes_error;
  Append(DrawHolders(holders, kIndent + 2, look), lines);
  for (const model::Process& process : plan.blockers) {
    const std::string how = model::HowToEnd(process);
    if (how.empty()) continue;
    Line advice = Line().PadTo(kIndent + 2);
    advice.Add(look.glyphs().advice, Ink::kStrong).Add(" ");
    Append(Wrapped(advice, advice.width(), how, Ink::kPlain, look), lines);
  }
}

void AddRefusal(const GpuOutcome& outcome,
                const model::Refusal& refusal,
                const Look& look,
                Lines& lines) {
  const Line mark = Line().PadTo(kIndent).Add(look.glyphs().fault, Ink::kFault).Add(" ");
  Append(Wrapped(mark, mark.width(), Clean(refusal.text, look.utf8), Ink::kFault, look), lines);
  const auto advise = [&](const std::string& text) {
    const Line arrow = Line().PadTo(mark.width()).Add(look.glyphs().advice, Ink::kStrong).Add(" ");
    Append(Wrapped(arrow, arrow.width(), Clean(text, look.utf8), Ink::kPlain, look), lines);
  };
  if (!refusal.hint.empty()) advise(refusal.hint);
  for (const model::ProfileCounts& counts : refusal.nearest) {
    advise(fmt::format("would work: {}", model::ToString(outcome.geometry, counts)));
  }
}

std::string Summary(const NodePlan& plan) {
  if (plan.gpus.empty()) return "no GPU here is meant";
  if (plan.Refused()) return "impossible";
  if (plan.Blocked()) return "blocked by what is in use";
  if (plan.ChangesNothing()) return "nothing to do";
  std::size_t steps = 0, changed = 0, goes = 0;
  for (const GpuOutcome& outcome : plan.gpus) {
    const auto& gpu = std::get<GpuPlan>(outcome.plan);
    steps += model::Steps(gpu).size();
    changed += gpu.ChangesNothing() ? 0 : 1;
    goes += gpu.layout.destroyed.size();
  }
  std::string text =
      fmt::format("{} on {}", Count(steps, "step", "steps"), Count(changed, "GPU", "GPUs"));
  if (goes > 0)
    text += fmt::format("; {}, idle", Count(goes, "GPU instance goes", "GPU instances go"));
  if (plan.NeedsReset()) text += "; with a GPU reset";
  return text;
}

}  // namespace

Lines DrawMigPlan(const model::Inventory& node, const NodePlan& plan, const Look& look) {
  Lines lines;
  for (const Group& group : Groups(node, plan)) {
    const GpuOutcome& outcome = *group.front();
    lines.push_back(GroupHeading(node, group, look));
    if (const auto* refusal = std::get_if<model::Refusal>(&outcome.plan)) {
      AddRefusal(outcome, *refusal, look, lines);
    } else if (const Gpu* gpu = model::FindGpu(node, outcome.gpu)) {
      AddPlan(*gpu, outcome, std::get<GpuPlan>(outcome.plan), look, lines);
    }
    lines.emplace_back();
  }
  lines.push_back(Line().Add("plan: ", Ink::kFaint).Add(Summary(plan), Ink::kStrong));
  return lines;
}

}  // namespace partita::cli
