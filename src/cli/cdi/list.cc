#include <cstdio>
#include <map>
#include <utility>

#include "cdi/registry.h"
#include "cli/answer.h"
#include "cli/cdi/commands.h"
#include "cli/cdi/spec_files.h"
#include "cli/exit_status.h"

namespace partita::cli {
namespace {

using base::Value;

Value ListDocument(const cdi::Registry& registry) {
  std::map<const cdi::Spec*, std::string> paths;
  for (const cdi::Registry::File& file : registry.files()) paths[&file.spec] = file.path;
  const std::vector<std::string> names = registry.Names();
  Value devices = Value::List();
  // Names() are those that are found.
  if (const auto found = registry.Find(names); found.ok()) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const cdi::Spec& spec = *found->at(i).spec;
      devices.Add(Value::Map()
                      .Set("name", names[i])
                      .Set("file", paths.find(&spec)->second)
                      .Set("cdiVersion", spec.version));
    }
  }
  Value problems = Value::List();
  for (const cdi::Registry::Problem& problem : registry.problems()) {
    problems.Add(Value::Map().Set("path", problem.path).Set("message", problem.error.ToString()));
  }
  return Value::Map()
      .Set("apiVersion", "partita.dev/cdi/v1")
      .Set("kind", "CdiDevices")
      .Set("devices", std::move(devices))
      .Set("problems", std::move(problems));
}

}  // namespace

int RunCdiList(const base::Invocation& invocation) {
  const cdi::Registry registry = cdi::Registry::Read(SpecDirectories(invocation));
  for (const cdi::Registry::Problem& problem : registry.problems())
    std::fputs(base::ErrorText("partita: warning", problem.error).c_str(), stderr);
  std::string text;
  for (const std::string& name : registry.Names()) text += name + '\n';
  return PrintAnswer(invocation, ListDocument(registry), text, kExitDone);
}

}  // namespace partita::cli
