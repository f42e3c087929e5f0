#include "cli/answer.h"

#include <cstdio>

#include "base/characters.h"
#include "cli/report_error.h"

namespace partita::cli {

void PrintAs(base::OutputFormat format, const base::Value& document, const std::string& text) {
  std::string out;
  switch (format) {
    case base::OutputFormat::kText: out = text; break;
    case base::OutputFormat::kJson: out = base::ToJson(document); break;
    case base::OutputFormat::kYaml: out = base::ToYaml(document); break;
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
}

int PrintAnswer(const base::Invocation& invocation,
                const base::Value& document,
                const std::string& text,
                int status) {
  const auto format = base::ParseOutputFormat(invocation.Get("output").value_or("text"));
  if (!format.ok()) return ReportError(format.error());
  PrintAs(*format, document, base::Printable(text, "\n"));
  return status;
}

}  // namespace partita::cli
