#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "base/output_format.h"
#include "base/value.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/report_error.h"

namespace partita::cli {

std::string_view Version() { return PARTITA_VERSION; }

int RunVersion(const base::Invocation& invocation) {
  const auto format = base::ParseOutputFormat(invocation.Get("output").value_or("text"));
  if (!format.ok()) return ReportError(format.error());
  const base::Value document = base::Value::Map()
                                   .Set("apiVersion", "partita.dev/version/v1")
                                   .Set("kind", "Version")
                                   .Set("version", Version())
                                   .Set("compiler", "gcc " __VERSION__)
                                   .Set("statusApiVersion", "partita.dev/status/v1");
  std::string text;
  switch (*format) {
    case base::OutputFormat::kText: text = fmt::format("partita {}\n", Version()); break;
    case base::OutputFormat::kJson: text = base::ToJson(document); break;
    case base::OutputFormat::kYaml: text = base::ToYaml(document); break;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitDone;
}

}  // namespace partita::cli
