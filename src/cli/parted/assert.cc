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
Result<void> AssertedValid(const Invocation& invocation, const Selected& selected) {
  const Result<model::Inventory> node = ReadNode();
  if (!node.ok()) return {};
  const ConfigVerdict verdict = Validate(*selected.file, *selected.config, *node);
  if (verdict.reasons.empty()) return {};
  std::string reasons = base::Join(verdict.reasons, "; ");
  if (Extended(invocation)) return base::Error(base::ErrorCode::kInvalid, std::move(reasons));
  PrintLog(Level::kWarning, "on these GPUs: " + reasons);
  return {};
}

bool NamesAGpu(const config::MigConfig& config, const model::Inventory& node) {
  return std::any_of(config.specs.begin(), config.specs.end(), [&](const config::MigSpec& spec) {
    return std::any_of(node.gpus.begin(), node.gpus.end(),
                       [&](const model::Gpu& gpu) { return spec.Selects(gpu); });
  });
}

Result<void> Asserted(const Invocation& invocation) {
  TRY(selected, LoadSelected(invocation));
  if (invocation.Has("valid-config")) return AssertedValid(invocation, selected);
  const bool mode_only = invocation.Has("mode-only");
  const model::Inventory node = service::inventory::Reader(Reading()).Read();
  if (mode_only && service::mig::NeedsPci(Reading(), node)) return AssertedThroughPci(selected);
  if (!node.driver) return model::WhyNoDriver(node);
  TRY(goal, OrInvalid(service::mig::ResolveConfig(*selected.file, *selected.config, node)));
  TRY(differences, service::mig::Differences(node, goal, mode_only));
  TRY_VOID(NoneOf(differences));
  // Of modes the reference says here that they are right.
  if (mode_only || NamesAGpu(*selected.config, node)) return {};
  return base::MakeError(base::ErrorCode::kNotApplied, "{}: it names no GPU of this machine",
                         kNotApplied);
}

int RunAssert(const Invocation& invocation) {
  std::string_view done = "Selected MIG configuration currently applied";
  if (invocation.Has("mode-only")) {
    done = "Selected MIG mode settings from configuration currently applied";
  }
  if (invocation.Has("valid-config")) done = "Selected MIG configuration is valid";
  return Finish(invocation, Asserted(invocation), done);
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
