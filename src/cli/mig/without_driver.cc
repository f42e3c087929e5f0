#include "cli/mig/without_driver.h"

#include <cstdio>
#include <utility>

#include "cli/exit_status.h"
#include "cli/report_error.h"

namespace partita::cli {

using service::mig::ApplyReport;

bool NeedsPci(const hw::ReaderOptions& options, const model::Inventory& node) {
  return !node.driver && !hw::IsDriverLoaded(options.root);
}

hw::PciMigOptions PciOptions(const hw::ReaderOptions& options) {
  hw::PciMigOptions pci;
  pci.root = options.root;
  return pci;
}

int ModesStatus(const ApplyReport& report, const service::mig::NodeGoal& goal) {
  const std::size_t unreachable = service::mig::OutOfReach(report.after, goal).size();
  if (unreachable > 0 && unreachable == goal.size()) return kExitNoDriver;
  // Something failed: that a reset is still to come says less.
  return report.errors.empty() ? ResultStatus(report) : kExitNotApplied;
}

int CarryOutWithoutDriver(const MigOptions& options, const ChangeRequest& request) {
  const hw::PciMigOptions pci = PciOptions(options.reader);
  const base::Result<model::Inventory> node = service::mig::LookWithoutDriver(pci);
  if (!node.ok()) return ReportError(node.error());
  const base::Result<service::mig::NodeGoal> goal = request.modes(*node);
  if (!goal.ok()) return ReportError(goal.error());
  std::fputs(
      "partita: no driver is loaded: MIG modes are changed through PCI, MIG devices are left for "
      "when it is\n",
      stderr);
  const base::Result<ApplyReport> report = service::mig::ApplyModesWithoutDriver(
      *node, *goal, request.options.skip_reset, pci, ShowSteps(), StopFlag());
  if (!report.ok()) return ReportError(report.error());
  Print(options, ResultDocument(*report),
        [&](const Look& look) { return DrawResult(*report, look); });
  return ModesStatus(*report, *goal);
}

}  // namespace partita::cli
