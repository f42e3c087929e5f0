#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/exit_status.h"
#include "cli/mig/commands.h"
#include "cli/mig/compare.h"
#include "cli/mig/node.h"
#include "cli/report_error.h"

namespace partita::cli {

namespace {

using base::Value;
using service::mig::GpuTarget;

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

struct MigAssertOptions : CompareOptions {
  bool mode_only = false;
  bool strict = false;  // a GPU without an entry is not as it should be
};

base::Result<MigAssertOptions> ReadMigAssertOptions(const base::Invocation& invocation) {
  TRY(common, ReadCompareOptions(invocation));
  return MigAssertOptions{std::move(common), invocation.Has("mode-only"), invocation.Has("strict")};
}

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

int RunMigAssert(const base::Invocation& invocation) {
  const base::Result<MigAssertOptions> options = ReadMigAssertOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  const auto with = options->mode_only ? WithModes : WithGoal;
  return with(*options, [&](const Asked& asked) { return AssertMig(asked, *options); });
}

}  // namespace partita::cli
