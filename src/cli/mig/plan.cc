#include "cli/mig/plan.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/draw/draw_holders.h"
#include "cli/draw/draw_slices.h"
#include "cli/draw/quantity.h"
#include "cli/exit_status.h"
#include "cli/mig/change_place.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/mig/request.h"
#include "cli/mig/show.h"
#include "cli/mig/validate.h"
#include "cli/report_error.h"
#include "model/holder.h"
#include "model/mig/after_plan.h"
#include "model/mig/wanted.h"

namespace partita::cli {

namespace {

using base::Value;
using model::Gpu;
using model::GpuInstance;
using model::GpuPlan;
using model::MigGeometry;
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

Value InstancesValue(const Gpu& gpu) {
  Value instances = Value::List();
  for (const GpuInstance& instance : gpu.mig->instances) {
    Value computes = Value::List();
    for (const model::ComputeInstance& compute : instance.compute_instances) {
      computes.Add(compute.name);
    }
    Value map = Value::Map();
    if (instance.id.value() < model::kNewInstance) map.Set("id", instance.id.value());
    map.Set("profile", instance.profile_name)
        .Set("start", instance.placement.start)
        .Set("size", instance.placement.size)
        .Set("devices", std::move(computes));
    instances.Add(std::move(map));
  }
  return Value::Map().Set("migEnabled", gpu.mig->enabled).Set("instances", std::move(instances));
}

Value NearestValue(const MigGeometry& geometry, const std::vector<model::ProfileCounts>& nearest) {
  Value list = Value::List();
  for (const model::ProfileCounts& counts : nearest) {
    Value map = Value::Map();
    for (const std::size_t profile : model::LargestFirst(geometry)) {
      if (counts[profile] > 0) map.Set(geometry.profiles[profile].name, counts[profile]);
    }
    list.Add(std::move(map));
  }
  return list;
}

Value OutcomeValue(const Gpu* gpu, const GpuOutcome& outcome) {
  Value map = Value::Map();
  if (outcome.gpu.index) map.Set("index", outcome.gpu.index->value());
  if (outcome.gpu.uuid) map.Set("uuid", outcome.gpu.uuid->value());
  map.Set("product", gpu != nullptr ? gpu->name : "");
  if (const auto* refusal = std::get_if<model::Refusal>(&outcome.plan)) {
    Value why = Value::Map().Set("message", refusal->text);
    if (!refusal->hint.empty()) why.Set("hint", refusal->hint);
    why.Set("nearest", NearestValue(outcome.geometry, refusal->nearest));
    return map.Set("refusal", std::move(why));
  }
  const auto& plan = std::get<GpuPlan>(outcome.plan);
  Value steps = Value::List(), blockers = Value::List();
  for (const model::PlanStep& step : model::Steps(plan)) {
    steps.Add(model::ToString(outcome.geometry, step));
  }
  for (const model::Process& process : plan.blockers) blockers.Add(HolderValue(process));
  map.Set("changes", !plan.ChangesNothing()).Set("resetRequired", plan.reset);
  if (plan.instances_later) map.Set("instancesLater", true);
  if (gpu != nullptr && gpu->mig) {
    map.Set("before", InstancesValue(*gpu));
    map.Set("after", InstancesValue(model::AfterPlan(*gpu, outcome.geometry, plan)));
  }
  map.Set("steps", std::move(steps))
      .Set("blocked", plan.Blocked())
      .Set("blockers", std::move(blockers));
  if (!plan.given_whole.empty()) {
    Value given = Value::List();
    for (const std::string& to : plan.given_whole) given.Add(to);
    map.Set("givenWhole", std::move(given));
  }
  if (!plan.given.empty()) {
    Value given = Value::List();
    for (const model::GivenInstance& each : plan.given)
      given.Add(Value::Map()
                    .Set("profile", outcome.geometry.profiles[each.place.profile].name)
                    .Set("start", std::uint64_t{each.place.start})
                    .Set("to", each.to));
    map.Set("given", std::move(given));
  }
  SetUnnamed(map, plan.hidden_blockers, plan.blockers_unknown);
  return map;
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

Value MigPlanDocument(const model::Inventory& node, const NodePlan& plan) {
  Value gpus = Value::List();
  for (const GpuOutcome& outcome : plan.gpus) {
    gpus.Add(OutcomeValue(model::FindGpu(node, outcome.gpu), outcome));
  }
  return Value::Map()
      .Set("apiVersion", "partita.dev/mig/v1")
      .Set("kind", "MigPlan")
      .Set("changes", !plan.ChangesNothing())
      .Set("possible", !plan.Refused())
      .Set("blocked", plan.Blocked())
      .Set("resetRequired", plan.NeedsReset())
      .Set("gpus", std::move(gpus));
}

void ReportReasons(const model::Inventory& node, const NodePlan& plan) {
  for (const GpuOutcome& outcome : plan.gpus) {
    for (const std::string& reason : service::mig::Reasons(node, outcome)) {
      const bool continued = reason.starts_with(' ');
      std::fprintf(stderr, "%s%s\n", continued ? "" : "partita: ", reason.c_str());
    }
  }
}

void WarnAboutReset(const service::inventory::ReaderOptions& options, const NodePlan& plan) {
  if (!plan.NeedsReset() || !service::inventory::DisplayModuleHoldsGpus(options)) return;
  std::fputs(
      "partita: warning: nvidia_drm is loaded with mode setting and may hold the GPUs, so that the "
      "reset fails: unload it (modprobe -r nvidia_drm), or use --skip-reset and reboot\n",
      stderr);
}

int PlanStatus(const NodePlan& plan) {
  if (plan.Refused()) return kExitInvalidInput;
  return plan.Blocked() ? kExitBlocked : kExitDone;
}

int RunMigPlan(const base::Invocation& invocation) {
  const base::Result<MigRequest> request = MigRequest::Read(invocation);
  if (!request.ok()) return ReportError(request.error());
  return WithMigNode(invocation, [&](const MigOptions& options, const model::Inventory& seen) {
    const model::Inventory node = options.model ? ModelNode(seen.gpus.front(), {}) : seen;
    const base::Result<service::mig::NodeGoal> goal = request->Resolve(node);
    if (!goal.ok()) return ReportError(goal.error());
    request->WarnOfLeftOut(node, *goal);
    model::PinnedParts pinned;
    if (!options.model) {
      base::Result<model::PinnedParts> asked = AskPinned(options.reader, node);
      if (asked.ok())
        pinned = *std::move(asked);
      else
        Warn(fmt::format("planned without what pods were given: {}", asked.error().ToString()));
    }
    const NodePlan plan = service::mig::PlanNode(node, *goal, pinned);
    Print(options, MigPlanDocument(node, plan),
          [&](const Look& look) { return DrawMigPlan(node, plan, look); });
    // The drawing says why; a document is for a program, and somebody may look at its errors.
    if (options.format != base::OutputFormat::kText) ReportReasons(node, plan);
    if (!options.model) WarnAboutReset(options.reader, plan);
    return PlanStatus(plan);
  });
}

}  // namespace partita::cli
