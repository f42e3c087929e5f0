#include "cli/mig/plan.h"

#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/exit_status.h"
#include "cli/mig/change_place.h"
#include "cli/mig/commands.h"
#include "cli/mig/draw_plan.h"
#include "cli/mig/node.h"
#include "cli/mig/plan_document.h"
#include "cli/mig/request.h"
#include "cli/mig/validate.h"
#include "cli/report_error.h"

namespace partita::cli {

using service::mig::GpuOutcome;
using service::mig::NodePlan;

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

namespace {

struct PlanOptions : MigOptions {
  MigRequest request;
};

base::Result<PlanOptions> ReadPlanOptions(const base::Invocation& invocation) {
  TRY(common, ReadMigOptions(invocation));
  TRY(request, MigRequest::Read(invocation));
  return PlanOptions{std::move(common), std::move(request)};
}

int ShowMigPlan(const PlanOptions& options, const model::Inventory& seen) {
  const model::Inventory node = options.model ? ModelNode(seen.gpus.front(), {}) : seen;
  const base::Result<service::mig::NodeGoal> goal = options.request.Resolve(node);
  if (!goal.ok()) return ReportError(goal.error());
  options.request.WarnOfLeftOut(node, *goal);
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
}

}  // namespace

int RunMigPlan(const base::Invocation& invocation) {
  const base::Result<PlanOptions> options = ReadPlanOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  return WithMigNode(*options,
                     [&](const model::Inventory& seen) { return ShowMigPlan(*options, seen); });
}

}  // namespace partita::cli
