#include "cli/cdi/spec_files.h"

#include <cstdio>
#include <string_view>
#include <utility>

#include "base/characters.h"
#include "base/files.h"
#include "base/output_format.h"
#include "cdi/registry.h"
#include "cdi/text.h"
#include "cdi/validate.h"
#include "cli/report_error.h"

namespace partita::cli {

std::vector<std::string> SpecDirectories(const base::Invocation& invocation) {
  std::vector<std::string> directories = invocation.GetAll("spec-dir");
  if (!directories.empty()) return directories;
  const std::string root = invocation.Get("host-root").value_or("/");
  for (const std::string_view directory : cdi::kSpecDirectories)
    directories.push_back(root == "/" ? std::string(directory) : base::JoinPath(root, directory));
  return directories;
}

base::Result<cdi::Spec> LoadSpec(const std::string& path) {
  const std::string name = path == "-" ? "standard input" : path;
  TRY(text, base::ReadFile(path == "-" ? "/dev/stdin" : path));
  TRY(spec, cdi::Parse(std::move(text), name));
  TRY_VOID(cdi::Check(spec), "{}", name);
  return spec;
}

int PrintAnswer(const base::Invocation& invocation,
                const base::Value& document,
                const std::string& text,
                int status) {
  const auto format = base::ParseOutputFormat(invocation.Get("output").value_or("text"));
  if (!format.ok()) return ReportError(format.error());
  std::string out;
  switch (*format) {
    case base::OutputFormat::kText: out = base::Printable(text, "\n"); break;
    case base::OutputFormat::kJson: out = base::ToJson(document); break;
    case base::OutputFormat::kYaml: out = base::ToYaml(document); break;
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
  return status;
}

}  // namespace partita::cli
