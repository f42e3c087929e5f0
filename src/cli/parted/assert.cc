#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/mig/validate.h"
#include "cli/parted/commands.h"
#include "cli/parted/flags.h"
#include "cli/parted/node.h"
#include "service/mig/differences.h"
#include "service/mig/modes_without_driver.h"
#include "service/mig/node_goal.h"

namespace partita::cli::parted {

namespace {

using base::Invocation;
using base::Result;

Failure NotApplied() {
  return {"assertion failure: selected configuration not currently applied", kExitNotApplied};
}

Outcome AssertedThroughPci(const Selected& selected) {
  const Result<model::Inventory> node =
      service::mig::LookWithoutDriver(service::mig::PciOptions(Reading()));
  if (!node.ok()) return Fail(node.error());
  const Result<service::mig::NodeGoal> goal =
      service::mig::ResolveModes(selected.file, *selected.config, *node);
  if (!goal.ok()) return Fail(goal.error(), kExitInvalidInput);
  if (const auto why = service::mig::OutOfReach(*node, *goal); !why.empty()) {
    return Failure{base::Join(service::mig::ErrorTexts(why, *node), "; "), kExitNoDriver};
  }
  const auto differences = service::mig::Differences(*node, *goal, true);
  if (!differences.ok()) return Fail(differences.error());
  return differences->empty() ? Outcome() : NotApplied();
}

// The reference judges the file alone, on machines without a GPU too. What these GPUs could not be
// is told all the same.
Outcome AssertedValid(const Invocation& invocation, const Selected& selected) {
  service::inventory::Reader reader(Reading());
  model::Inventory node;
  if (ReadNode(reader, node)) return std::nullopt;
  const ConfigVerdict verdict = Validate(selected.file, *selected.config, node);
  if (verdict.reasons.empty()) return std::nullopt;
  std::string reasons = base::Join(verdict.reasons, "; ");
  if (Extended(invocation)) return Failure{std::move(reasons), kExitInvalidInput};
  PrintLog(Level::kWarning, "on these GPUs: " + reasons);
  return std::nullopt;
}

bool NamesAGpu(const config::MigConfig& config, const model::Inventory& node) {
  return std::any_of(config.specs.begin(), config.specs.end(), [&](const config::MigSpec& spec) {
    return std::any_of(node.gpus.begin(), node.gpus.end(),
                       [&](const model::Gpu& gpu) { return spec.Selects(gpu); });
  });
}

Outcome Asserted(const Invocation& invocation) {
  std::optional<Selected> selected;
  if (Outcome failure = LoadSelected(invocation, selected)) return failure;
  if (invocation.Has("valid-config")) return AssertedValid(invocation, *selected);
  service::inventory::Reader reader(Reading());
  model::Inventory node;
  Outcome unread = ReadNode(reader, node);
  if (unread && invocation.Has("mode-only") && service::mig::NeedsPci(Reading(), node)) {
    return AssertedThroughPci(*selected);
  }
  if (unread) return unread;
  const Result<service::mig::NodeGoal> goal =
      service::mig::ResolveConfig(selected->file, *selected->config, node);
  if (!goal.ok()) return Fail(goal.error(), kExitInvalidInput);
  const bool mode_only = invocation.Has("mode-only");
  const auto differences = service::mig::Differences(node, *goal, mode_only);
  if (!differences.ok()) return Fail(differences.error());
  if (!differences->empty()) return NotApplied();
  // Of modes the reference says here that they are right.
  if (mode_only || NamesAGpu(*selected->config, node)) return std::nullopt;
  Failure failure = NotApplied();
  failure.message += ": it names no GPU of this machine";
  return failure;
}

int Run(const Invocation& invocation) {
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
          .run = Run};
}

}  // namespace partita::cli::parted
