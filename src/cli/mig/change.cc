#include "cli/mig/change.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/exit_status.h"
#include "cli/mig/change_place.h"
#include "cli/mig/draw_plan.h"
#include "cli/mig/plan.h"
#include "cli/mig/show.h"
#include "cli/report_error.h"
#include "service/mig/node_plan.h"

namespace partita::cli {

namespace {

using base::Value;
using service::mig::ApplyReport;
using service::mig::NodePlan;

void OnSignal(int) { StopFlag().store(true); }

// What only a change destroys: idle instances, compute instances of those that stay, and everything
// on a GPU that is reset.
bool LosesSomething(const model::GpuPlan& plan) {
  return plan.reset || !plan.layout.destroyed.empty() ||
         std::any_of(plan.layout.kept.begin(), plan.layout.kept.end(),
                     [](const model::KeptInstance& kept) { return !kept.destroy.empty(); });
}

bool MustAsk(const ChangeRequest& request, const NodePlan& plan) {
  if (request.sure || isatty(STDIN_FILENO) == 0 || plan.Refused() || plan.Blocked()) return false;
  return std::any_of(plan.gpus.begin(), plan.gpus.end(), [](const auto& outcome) {
    return LosesSomething(std::get<model::GpuPlan>(outcome.plan));
  });
}

bool Agrees() {
  std::fputs("Carry it out? [y/N] ", stderr);
  std::string answer;
  for (int c = std::getchar(); c != EOF && c != '\n'; c = std::getchar()) {
    answer += static_cast<char>(c);
  }
  answer = base::ToLower(base::Trim(answer));
  return answer == "y" || answer == "yes";
}

using StepsShown = std::vector<service::mig::GpuSteps>;

// What somebody is asked before it is carried out.
struct Question {
  std::optional<StepsShown> shown;  // what the plan that was shown last does
  bool open = false;                // not answered yet
  bool told_left_out = false;       // the GPUs that cannot be asked
  int outdated = 0;                 // how often the plan became another one while it was begun
};

// A node that changes faster than it can be looked at is not changed any further.
constexpr int kMostOutdated = 3;

// Shows the plan, unless it is the one that was shown; a status when there is one to end with.
std::optional<int> ShowPlan(const MigOptions& options,
                            const ChangeRequest& request,
                            const model::Inventory& node,
                            const model::PinnedParts& pinned,
                            Question& question) {
  base::Result<service::mig::NodeGoal> goal = request.goal.Resolve(node);
  if (!goal.ok()) return ReportError(goal.error());
  if (!std::exchange(question.told_left_out, true)) {
    for (const std::string& line : request.goal.LeftOut(node, *goal)) Warn(line);
  }
  if (request.order.mode_only) goal = service::mig::ModeOnly(node, *goal);
  NodePlan plan = service::mig::PlanNode(node, *goal, pinned);
  if (request.order.skip_reset) plan = service::mig::WithoutResets(std::move(plan));
  question.open = false;
  StepsShown steps = service::mig::AllSteps(plan);
  const bool hindered = plan.Refused() || plan.Blocked();
  if (!hindered && question.shown == steps) return std::nullopt;
  if (question.shown) {
    std::fputs("partita: the GPUs are no longer as they were: this is the plan now\n", stderr);
  }
  const bool text = options.format == base::OutputFormat::kText;
  const bool ask = MustAsk(request, plan);
  if (text || ask) {
    const std::string picture =
        ToString(DrawMigPlan(node, plan, options.look), options.look.colour);
    // Where a program reads the output, whoever is asked still sees what goes.
    std::fwrite(picture.data(), 1, picture.size(), text ? stdout : stderr);
    std::fflush(stdout);
  }
  if (hindered) {
    if (!text) ReportReasons(node, plan);
    return PlanStatus(plan);
  }
  if (!request.order.skip_reset) WarnAboutReset(options.reader, plan);
  question.shown = std::move(steps);
  question.open = ask;
  return std::nullopt;
}

}  // namespace

void ShowProgress(const service::mig::ChangeNews& news) {
  if (news.kind == service::mig::NewsKind::kHookWrote) {
    std::fputs(news.text.c_str(), stderr);
  } else if (news.kind == service::mig::NewsKind::kStep && news.done) {
    std::fprintf(stderr, "%s: %s\n", news.where.c_str(), news.text.c_str());
  }
}

std::atomic<bool>& StopFlag() {
  static std::atomic<bool> stop = false;
  return stop;
}

void StopOnSignals() {
  struct sigaction action {};
  action.sa_handler = OnSignal;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  // Ignored already, as under nohup: whoever started us decided.
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  // Whoever read what we say may go; the GPUs are not to be left half-way for that.
  std::signal(SIGPIPE, SIG_IGN);
}

Lines DrawResult(const ApplyReport& report, const Look& look) {
  Lines lines;
  for (const std::string& error : service::mig::ErrorTexts(report)) {
    const Line mark = Line().Add(look.glyphs().fault, Ink::kFault).Add(" ");
    Append(Wrapped(mark, mark.width(), Clean(error, look.utf8), Ink::kPlain, look), lines);
  }
  for (const std::string& text : service::mig::WaitingTexts(report)) {
    const Line mark = Line().Add(look.glyphs().warning, Ink::kWarning).Add(" ");
    Append(Wrapped(mark, mark.width(), Clean(text, look.utf8), Ink::kPlain, look), lines);
  }
  if (report.applied) {
    lines.push_back(Line().Add("applied", Ink::kStrong));
  } else if (report.reset_required) {
    lines.push_back(Line().Add("not applied: a GPU reset or a reboot is required", Ink::kWarning));
  } else {
    lines.push_back(Line().Add("not applied", Ink::kFault));
  }
  return lines;
}

Value ResultDocument(const ApplyReport& report) {
  Value errors = Value::List(), waiting = Value::List();
  for (const std::string& error : service::mig::ErrorTexts(report)) errors.Add(error);
  for (const std::string& text : service::mig::WaitingTexts(report)) waiting.Add(text);
  return Value::Map()
      .Set("apiVersion", "partita.dev/mig/v1")
      .Set("kind", "MigResult")
      .Set("applied", report.applied)
      .Set("resetRequired", report.reset_required)
      .Set("waiting", std::move(waiting))
      .Set("errors", std::move(errors))
      .Set("gpus", *MigShowDocument(report.after).Find("gpus"));
}

int ExitStatus(service::mig::ChangeStatus status) {
  switch (status) {
    case service::mig::ChangeStatus::kDone: return kExitDone;
    case service::mig::ChangeStatus::kFailed: return kExitError;
    case service::mig::ChangeStatus::kInvalid: return kExitInvalidInput;
    case service::mig::ChangeStatus::kUndecided:
    case service::mig::ChangeStatus::kNotApplied: return kExitNotApplied;
    case service::mig::ChangeStatus::kBlocked: return kExitBlocked;
    case service::mig::ChangeStatus::kResetRequired: return kExitResetRequired;
    case service::mig::ChangeStatus::kNoDriver: return kExitNoDriver;
  }
  return kExitError;
}

namespace {

void ShowNews(const service::mig::ChangeNews& news) {
  if (news.kind == service::mig::NewsKind::kWaiting) {
    std::fprintf(stderr, "partita: waiting for %s, which is changing this node's GPUs\n",
                 news.text.c_str());
  } else if (news.kind == service::mig::NewsKind::kThroughPci) {
    std::fputs(
        "partita: no driver is loaded: MIG modes are changed through PCI, MIG devices are left "
        "for when it is\n",
        stderr);
  } else {
    ShowProgress(news);
  }
}

// Nothing: the plan is shown anew.
std::optional<int> GiveUp(Question& question) {
  if (++question.outdated < kMostOutdated) return std::nullopt;
  std::fputs(
      "partita: nothing was changed: the GPUs keep changing while they are looked at\n"
      "  something else divides them: find and stop it, then try again\n",
      stderr);
  return kExitNotApplied;
}

// What became of it, or nothing where the plan is to be shown anew.
std::optional<int> ReportEnd(const MigOptions& options,
                             const ChangeRequest& request,
                             const service::mig::ChangeEnd& end,
                             Question& question) {
  for (const std::string& warning : end.warnings) Warn(warning);
  if (end.error) {
    if (end.status != service::mig::ChangeStatus::kNoDriver) return ReportError(*end.error);
    if (!end.driver_loaded && request.goal.Modes()) {
      std::fputs("partita: no driver is loaded: only MIG modes can be changed, with --mode-only\n",
                 stderr);
    }
    return ReportError(SayWhereToFind(*end.error));
  }
  if (end.report->outdated) return GiveUp(question);
  Print(options, ResultDocument(*end.report),
        [&](const Look& look) { return DrawResult(*end.report, look); });
  return ExitStatus(end.status);
}

}  // namespace

int CarryOutChange(const MigOptions& options, const ChangeRequest& request) {
  StopOnSignals();
  ChangePlace place(options.reader);
  Question question;
  std::optional<int> status;
  const auto agree = [&](const model::Inventory& node, const model::PinnedParts& pinned) {
    status = ShowPlan(options, request, node, pinned, question);
    return service::mig::Agreement{!status && !question.open, question.shown};
  };
  for (;;) {
    const service::mig::ChangeEnd end = place.Run(request.order, agree, ShowNews);
    if (status) return *status;
    if (!question.open) {
      if (const auto ended = ReportEnd(options, request, end, question)) return *ended;
    }
    // Without the lock, and with the driver closed: a question that nobody answers must not keep
    // the boot unit from its work. If the plan is another one by then, it is asked again.
    place.Release();
    if (!question.open || Agrees()) continue;
    std::fputs("partita: nothing was changed\n", stderr);
    return kExitNotApplied;
  }
}

base::Result<MigChangeOptions> ReadMigChangeOptions(const base::Invocation& invocation) {
  TRY(common, ReadMigOptions(invocation));
  MigChangeOptions options{std::move(common)};
  options.skip_reset = invocation.Has("skip-reset");
  options.mode_only = invocation.Has("mode-only");
  options.wait = invocation.Has("wait");
  options.sure = invocation.Has("yes");
  return options;
}

ChangeRequest MakeChange(const MigChangeOptions& options,
                         std::string command,
                         service::mig::WantedGoal goal,
                         service::mig::BootSelection selection) {
  service::mig::RemoteOrder order;
  order.source = goal.source();
  order.skip_reset = options.skip_reset;
  order.mode_only = options.mode_only;
  order.command = std::move(command);
  order.wait = options.wait;
  order.selection = std::move(selection);
  return {std::move(goal), std::move(order), options.sure};
}

}  // namespace partita::cli
