#include "cli/cdi/spec_files.h"

#include <string_view>
#include <utility>

#include "base/files.h"
#include "cdi/registry.h"
#include "cdi/text.h"
#include "cdi/validate.h"

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

}  // namespace partita::cli
