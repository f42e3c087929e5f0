#include "cli/mig/compare.h"

#include <cstddef>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "cli/exit_status.h"
#include "cli/report_error.h"
#include "service/mig/modes_without_driver.h"

namespace partita::cli {

namespace {

using base::Value;

// Differences are of GPUs that this look has.
std::size_t PositionOf(const model::Inventory& node,
                       const service::mig::GpuDifference& difference) {
  const std::optional<std::size_t> position = model::FindPosition(node, difference.gpu);
  PARTITA_CHECK(position.has_value());
  return *position;
}

}  // namespace

base::Result<CompareOptions> ReadCompareOptions(const base::Invocation& invocation) {
  TRY(common, ReadMigOptions(invocation));
  TRY(request, MigRequest::Read(invocation));
  return CompareOptions{std::move(common), std::move(request)};
}

int WithGoal(const CompareOptions& options, const std::function<int(const Asked&)>& work) {
  return WithMigNode(options, [&](const model::Inventory& node) {
    base::Result<service::mig::NodeGoal> goal = options.request.Resolve(node);
    if (!goal.ok()) return ReportError(goal.error());
    options.request.WarnOfLeftOut(node, *goal);
    return work({options, node, *std::move(goal)});
  });
}

int WithModes(const CompareOptions& options, const std::function<int(const Asked&)>& work) {
  service::inventory::Reader reader(options.reader);
  if (options.model || !service::mig::NeedsPci(options.reader, reader.Read())) {
    return WithGoal(options, work);
  }
  base::Result<model::Inventory> node =
      service::mig::LookWithoutDriver(service::mig::PciOptions(options.reader));
  if (!node.ok()) return ReportError(node.error());
  base::Result<service::mig::NodeGoal> goal = options.request.goal().ResolveModes(*node);
  if (!goal.ok()) return ReportError(goal.error());
  const std::vector<std::string> reasons =
      service::mig::ErrorTexts(service::mig::OutOfReach(*node, *goal), *node);
  for (const std::string& reason : reasons) std::fprintf(stderr, "partita: %s\n", reason.c_str());
  if (!reasons.empty()) return kExitNoDriver;
  return work({options, *std::move(node), *std::move(goal)});
}

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

}  // namespace partita::cli
