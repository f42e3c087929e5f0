#include "cli/mig/compare.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "cli/exit_status.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/mig/request.h"
#include "cli/report_error.h"
#include "model/mig/plan.h"
#include "model/mig/wanted.h"
#include "service/mig/modes_without_driver.h"
#include "service/mig/node_plan.h"

namespace partita::cli {

namespace {

using base::Value;
using service::mig::GpuTarget;

struct Asked {
  MigOptions options;
  model::Inventory node;
  service::mig::NodeGoal goal;
};

// What diff and assert begin with; `work` returns the exit status.
int WithGoal(const base::Invocation& invocation, const std::function<int(const Asked&)>& work) {
  const base::Result<MigRequest> request = MigRequest::Read(invocation);
  if (!request.ok()) return ReportError(request.error());
  return WithMigNode(invocation, [&](const MigOptions& options, const model::Inventory& node) {
    base::Result<service::mig::NodeGoal> goal = request->Resolve(node);
    if (!goal.ok()) return ReportError(goal.error());
    request->WarnOfLeftOut(node, *goal);
    return work({options, node, *std::move(goal)});
  });
}

// The same for modes, which can be compared without a driver too.
int WithModes(const base::Invocation& invocation, const std::function<int(const Asked&)>& work) {
  const base::Result<MigOptions> options = ReadMigOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  service::inventory::Reader reader(options->reader);
  if (options->model || !service::mig::NeedsPci(options->reader, reader.Read())) {
    return WithGoal(invocation, work);
  }
  const base::Result<MigRequest> request = MigRequest::Read(invocation);
  if (!request.ok()) return ReportError(request.error());
  base::Result<model::Inventory> node =
      service::mig::LookWithoutDriver(service::mig::PciOptions(options->reader));
  if (!node.ok()) return ReportError(node.error());
  base::Result<service::mig::NodeGoal> goal = request->goal().ResolveModes(*node);
  if (!goal.ok()) return ReportError(goal.error());
  const std::vector<std::string> reasons =
      service::mig::ErrorTexts(service::mig::OutOfReach(*node, *goal), *node);
  for (const std::string& reason : reasons) std::fprintf(stderr, "partita: %s\n", reason.c_str());
  if (!reasons.empty()) return kExitNoDriver;
  return work({*options, *std::move(node), *std::move(goal)});
}

// Differences are of GPUs that this look has.
std::size_t PositionOf(const model::Inventory& node,
                       const service::mig::GpuDifference& difference) {
  const std::optional<std::size_t> position = model::FindPosition(node, difference.gpu);
  PARTITA_CHECK(position.has_value());
  return *position;
}

// GPUs that can do MIG and that the goal leaves out.
std::vector<std::size_t> LeftOut(const Asked& asked) {
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < asked.node.gpus.size(); ++i) {
    const bool meant =
        std::any_of(asked.goal.begin(), asked.goal.end(),
                    [&](const GpuTarget& target) { return target.gpu.Is(asked.node.gpus[i]); });
    if (!meant && asked.node.gpus[i].mig) left.push_back(i);
  }
  return left;
}

struct MigAssertOptions {
  bool mode_only = false;
  bool strict = false;  // a GPU without an entry is not as it should be
};

int AssertMig(const Asked& asked, const MigAssertOptions& options) {
  const auto compared = service::mig::Differences(asked.node, asked.goal, options.mode_only);
  if (!compared.ok()) return ReportError(compared.error());
  const std::vector<service::mig::GpuDifference>& differences = *compared;
  const std::vector<std::size_t> left =
      options.strict ? LeftOut(asked) : std::vector<std::size_t>();
  const bool applied = differences.empty() && left.empty();
  Value document = MigDiffDocument(asked.node, differences);
  document.Set("kind", "MigAssertion").Set("applied", applied);
  document.Set("leftOut", GpuList(asked.node, left));
  Print(asked.options, document, [&](const Look& look) {
    if (applied) return Lines{Line().Add("applied")};
    Lines lines = {Line().Add("not applied", Ink::kFault)};
    if (!differences.empty()) Append(DrawMigDiff(asked.node, differences, look), lines);
    if (!left.empty()) {
      const std::string text = fmt::format("no entry is for {}", GpuNumbers(asked.node, left));
      Append(Wrapped(Line().PadTo(kIndent), kIndent, text, Ink::kPlain, look), lines);
    }
    return lines;
  });
  return applied ? kExitDone : kExitNotApplied;
}

}  // namespace

Lines DrawMigDiff(const model::Inventory& node,
                  const std::vector<service::mig::GpuDifference>& differences,
                  const Look& look) {
  Lines lines;
  for (std::size_t i = 0; i < differences.size();) {
    const service::mig::GpuDifference& first = differences[i];
    GpuKind alike;
    // Neighbours with the same difference are shown once.
    for (; i < differences.size(); ++i) {
      const service::mig::GpuDifference& other = differences[i];
      const std::size_t position = PositionOf(node, other);
      if (node.gpus[position].name != node.gpus[PositionOf(node, first)].name ||
          other.gone != first.gone || other.added != first.added) {
        break;
      }
      alike.gpus.push_back(position);
    }
    lines.push_back(KindHeading(node, alike, look));
    const auto add = [&](std::string_view sign, const std::vector<std::string>& texts, Ink ink) {
      for (const std::string& text : texts) {
        lines.push_back(
            Line().PadTo(kIndent).Add(sign, ink).Add(" ").Add(Clean(text, look.utf8), ink));
      }
    };
    add("-", first.gone, Ink::kHeld);
    add("+", first.added, Ink::kStrong);
  }
  if (lines.empty()) lines.push_back(Line().Add("no difference"));
  return lines;
}

Value MigDiffDocument(const model::Inventory& node,
                      const std::vector<service::mig::GpuDifference>& differences) {
  Value gpus = Value::List();
  for (const service::mig::GpuDifference& difference : differences) {
    const model::Gpu& gpu = node.gpus[PositionOf(node, difference)];
    Value gone = Value::List(), added = Value::List();
    for (const std::string& text : difference.gone) gone.Add(text);
    for (const std::string& text : difference.added) added.Add(text);
    Value map = Value::Map();
    if (gpu.index) map.Set("index", gpu.index->value());
    if (gpu.uuid) map.Set("uuid", gpu.uuid->value());
    gpus.Add(
        map.Set("product", gpu.name).Set("gone", std::move(gone)).Set("added", std::move(added)));
  }
  return Value::Map()
      .Set("apiVersion", "partita.dev/mig/v1")
      .Set("kind", "MigDiff")
      .Set("applied", differences.empty())
      .Set("gpus", std::move(gpus));
}

int RunMigDiff(const base::Invocation& invocation) {
  return WithGoal(invocation, [](const Asked& asked) {
    const auto differences = service::mig::Differences(asked.node, asked.goal, false);
    if (!differences.ok()) return ReportError(differences.error());
    Print(asked.options, MigDiffDocument(asked.node, *differences),
          [&](const Look& look) { return DrawMigDiff(asked.node, *differences, look); });
    return differences->empty() ? kExitDone : kExitNotApplied;
  });
}

int RunMigAssert(const base::Invocation& invocation) {
  const MigAssertOptions options{invocation.Has("mode-only"), invocation.Has("strict")};
  const auto with = options.mode_only ? WithModes : WithGoal;
  return with(invocation, [&](const Asked& asked) { return AssertMig(asked, options); });
}

}  // namespace partita::cli
