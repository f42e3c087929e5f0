#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/mig/validate.h"
#include "cli/parted/commands.h"
#include "cli/parted/flags.h"
#include "cli/parted/node.h"
#include "cli/parted/outcome.h"
#include "model/unread.h"
#include "service/mig/differences.h"
#include "service/mig/modes_without_driver.h"
#include "service/mig/node_goal.h"

namespace partita::cli::parted {

namespace {

using base::Invocation;
using base::Result;

struct AssertOptions {
  bool valid_config = false;  // only whether the file is right
  bool mode_only = false;
  ExitCodes exit_codes = ExitCodes::kReference;
};

AssertOptions ReadAssertOptions(const Invocation& invocation) {
  return {invocation.Has("valid-config"), invocation.Has("mode-only"), ReadExitCodes(invocation)};
}

constexpr std::string_view kNotApplied =
    "assertion failure: selected configuration not currently applied";

Result<void> NoneOf(const std::vector<service::mig::GpuDifference>& differences) {
  if (differences.empty()) return {};
  return base::Error(base::ErrorCode::kNotApplied, std::string(kNotApplied));
}

// What a configuration wants that these GPUs cannot be is wrong input, whatever shows it.
Result<service::mig::NodeGoal> OrInvalid(Result<service::mig::NodeGoal> goal) {
  if (goal.ok()) return goal;
  return std::move(goal).error().As(base::ErrorCode::kInvalid);
}

Result<void> AssertedThroughPci(const Selected& selected) {
  TRY(node, service::mig::LookWithoutDriver(service::mig::PciOptions(Reading())));
  TRY(goal, OrInvalid(service::mig::ResolveModes(*selected.file, *selected.config, node)));
  if (const auto why = service::mig::OutOfReach(node, goal); !why.empty()) {
    return base::Error(base::ErrorCode::kNoDriver,
                       base::Join(service::mig::ErrorTexts(why, node), "; "));
  }
  TRY(differences, service::mig::Differences(node, goal, true));
  return NoneOf(differences);
}

// The reference judges the file alone, on machines without a GPU too. What these GPUs could not be
// is told all the same.
Result<void> AssertedValid(const AssertOptions& options, const Selected& selected) {
  const Result<model::Inventory> node = ReadNode();
  if (!node.ok()) return {};
  const ConfigVerdict verdict = Validate(*selected.file, *selected.config, *node);
  if (verdict.reasons.empty()) return {};
  std::string reasons = base::Join(verdict.reasons, "; ");
  if (options.exit_codes == ExitCodes::kExtended)
    return base::Error(base::ErrorCode::kInvalid, std::move(reasons));
  PrintLog(Level::kWarning, "on these GPUs: " + reasons);
  return {};
}

bool NamesAGpu(const config::MigConfig& config, const model::Inventory& node) {
  return std::any_of(config.specs.begin(), config.specs.end(), [&](const config::MigSpec& spec) {
    return std::any_of(node.gpus.begin(), node.gpus.end(),
                       [&](const model::Gpu& gpu) { return spec.Selects(gpu); });
  });
}

Result<void> Asserted(const AssertOptions& options, const Selected& selected) {
  if (options.valid_config) return AssertedValid(options, selected);
  const model::Inventory node = service::inventory::Reader(Reading()).Read();
  if (options.mode_only && service::mig::NeedsPci(Reading(), node))
    return AssertedThroughPci(selected);
  if (!node.driver) return model::WhyNoDriver(node);
  TRY(goal, OrInvalid(service::mig::ResolveConfig(*selected.file, *selected.config, node)));
  TRY(differences, service::mig::Differences(node, goal, options.mode_only));
  TRY_VOID(NoneOf(differences));
  // Of modes the reference says here that they are right.
  if (options.mode_only || NamesAGpu(*selected.config, node)) return {};
  return base::MakeError(base::ErrorCode::kNotApplied, "{}: it names no GPU of this machine",
                         kNotApplied);
}

std::string_view Done(const AssertOptions& options) {
  if (options.valid_config) return "Selected MIG configuration is valid";
  if (options.mode_only) return "Selected MIG mode settings from configuration currently applied";
  return "Selected MIG configuration currently applied";
}

int RunAssert(const Invocation& invocation) {
  const AssertOptions options = ReadAssertOptions(invocation);
  const Result<Selected> selected = LoadSelected(invocation);
  const Result<void> end =
      selected.ok() ? Asserted(options, *selected) : Result<void>(selected.error());
  return Finish(options.exit_codes, end, Done(options));
}

}  // namespace

base::Command AssertCommand() {
  const base::Option valid{.name = "valid-config",
                           .letter = 'a',
                           .help = "only whether the file is right",
                           .environment = "MIG_PARTED_VALID_CONFIG"};
  return {.name = "assert",
          .summary = "Check that a MIG configuration is applied",
          .options = {ConfigFileFlag(), SelectedConfigFlag(), ModeOnlyFlag(), valid},
          .run = RunAssert};
}

}  // namespace partita::cli::parted
