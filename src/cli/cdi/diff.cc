#include <fmt/format.h>

#include "cdi/difference.h"
#include "cli/answer.h"
#include "cli/cdi/commands.h"
#include "cli/cdi/spec_files.h"
#include "cli/exit_status.h"
#include "cli/report_error.h"

namespace partita::cli {
namespace {

using base::Value;

std::string DifferencesText(const std::vector<cdi::Difference>& differences) {
  if (differences.empty()) return "no difference\n";
  std::string text, where;
  for (const cdi::Difference& difference : differences) {
    if (difference.where != where) text += difference.where + '\n';
    where = difference.where;
    if (!difference.before.empty()) text += "  - " + difference.before + '\n';
    if (!difference.after.empty()) text += "  + " + difference.after + '\n';
  }
  return text;
}

Value DifferencesDocument(const std::vector<cdi::Difference>& differences) {
  Value list = Value::List();
  for (const cdi::Difference& difference : differences) {
    Value map = Value::Map().Set("where", difference.where);
    if (!difference.before.empty()) map.Set("before", difference.before);
    if (!difference.after.empty()) map.Set("after", difference.after);
    list.Add(std::move(map));
  }
  return Value::Map()
      .Set("apiVersion", "partita.dev/cdi/v1")
      .Set("kind", "CdiDiff")
      .Set("equal", differences.empty())
      .Set("differences", std::move(list));
}

}  // namespace

int RunCdiDiff(const base::Invocation& invocation) {
  std::vector<cdi::Spec> specs;
  for (const std::string& path : invocation.arguments()) {
    base::Result<cdi::Spec> spec = LoadSpec(path);
    if (!spec.ok()) return ReportError(spec.error());
    specs.push_back(*std::move(spec));
  }
  const std::vector<cdi::Difference> differences = cdi::Differences(specs.at(0), specs.at(1));
  return PrintAnswer(invocation, DifferencesDocument(differences), DifferencesText(differences),
                     differences.empty() ? kExitDone : kExitNotApplied);
}

}  // namespace partita::cli
