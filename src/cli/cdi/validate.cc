#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "cdi/registry.h"
#include "cdi/validate.h"
#include "cli/answer.h"
#include "cli/cdi/commands.h"
#include "cli/cdi/spec_files.h"
#include "cli/draw/quantity.h"
#include "cli/exit_status.h"
#include "cli/report_error.h"

namespace partita::cli {
namespace {

using base::Value;

// What came of one file, or of a conflict between several.
struct Verdict {
  std::string path;
  std::optional<cdi::Spec> spec;
  std::string problem;  // where it is not valid
  std::string warning;  // where it is, and something is to be said
};

Verdict Judge(std::string path, const base::Result<cdi::Spec>& spec) {
  Verdict verdict{std::move(path), std::nullopt, "", ""};
  if (!spec.ok()) {
    verdict.problem = spec.error().ToString();
    return verdict;
  }
  verdict.spec = *spec;
  if (const base::Result<void> strict = cdi::CheckToWrite(*spec); !strict.ok())
    verdict.warning = strict.error().message();
  return verdict;
}

std::vector<Verdict> JudgeAll(const base::Invocation& invocation) {
  std::vector<Verdict> verdicts;
  if (!invocation.arguments().empty()) {
    for (const std::string& path : invocation.arguments())
      verdicts.push_back(Judge(path, LoadSpec(path)));
    return verdicts;
  }
  const cdi::Registry registry = cdi::Registry::Read(SpecDirectories(invocation));
  for (const cdi::Registry::File& file : registry.files())
    verdicts.push_back(Judge(file.path, file.spec));
  for (const cdi::Registry::Problem& problem : registry.problems())
    verdicts.push_back({problem.path, std::nullopt, problem.error.ToString(), ""});
  return verdicts;
}

std::string VerdictText(const Verdict& verdict) {
  if (!verdict.spec) return verdict.problem + '\n';
  std::string text = fmt::format("{}: valid, {} of {}, CDI {}\n", verdict.path,
                                 Count(verdict.spec->devices.size(), "device", "devices"),
                                 verdict.spec->kind, verdict.spec->version);
  if (!verdict.warning.empty()) text += "  warning: " + verdict.warning + '\n';
  return text;
}

Value VerdictValue(const Verdict& verdict) {
  Value map = Value::Map().Set("path", verdict.path).Set("valid", verdict.spec.has_value());
  if (verdict.spec) {
    map.Set("kind", verdict.spec->kind)
        .Set("cdiVersion", verdict.spec->version)
        .Set("devices", verdict.spec->devices.size());
  }
  if (!verdict.problem.empty()) map.Set("problem", verdict.problem);
  if (!verdict.warning.empty()) map.Set("warning", verdict.warning);
  return map;
}

}  // namespace

int RunCdiValidate(const base::Invocation& invocation) {
  const std::vector<Verdict> verdicts = JudgeAll(invocation);
  const bool valid = std::all_of(verdicts.begin(), verdicts.end(),
                                 [](const Verdict& each) { return each.spec.has_value(); });
  std::string text;
  Value files = Value::List();
  for (const Verdict& verdict : verdicts) {
    text += VerdictText(verdict);
    files.Add(VerdictValue(verdict));
  }
  if (verdicts.empty()) {
    text = fmt::format("no CDI file in {}\n", base::Join(SpecDirectories(invocation), ", "));
  }
  const Value document = Value::Map()
                             .Set("apiVersion", "partita.dev/cdi/v1")
                             .Set("kind", "CdiValidation")
                             .Set("valid", valid)
                             .Set("files", std::move(files));
  return PrintAnswer(invocation, document, text, valid ? kExitDone : kExitInvalidInput);
}

}  // namespace partita::cli
