#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "sim/tool/commands.h"
#include "sim/tool/nodes.h"
#include "sim/tool/start_program.h"
#include "sim/tool/view.h"

namespace partita::sim::tool {
namespace {

constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

void Prepend(const char* variable, const std::string& directory, const char* otherwise) {
  const char* old = std::getenv(variable);
  const std::string rest = old != nullptr && *old != '\0' ? old : otherwise;
  setenv(variable, (rest.empty() ? directory : directory + ":" + rest).c_str(), 1);
}

// Programs and libraries of the node first; nothing that would lead to another node.
void SetEnvironment(const std::string& node) {
  const std::string root = kViewRoot;
  Prepend("PATH", root + "/usr/bin", kDefaultPath);
  Prepend("LD_LIBRARY_PATH", root + "/usr/lib64", "");
  setenv("PARTITA_SIM_NODE", node.c_str(), 1);
  unsetenv("PARTITA_SIM_STATE");
  unsetenv("PARTITA_SIM_DIR");
}

int RunInView(const base::Invocation& invocation, const std::vector<std::string>& command) {
  const auto place = ChooseNode(invocation);
  if (!place.ok()) return Report(place.error());
  if (const auto entered = EnterView(place->root, invocation.Has("proc-modules")); !entered.ok()) {
    return Report(entered.error());
  }
  SetEnvironment(place->name);
  StartProgram(command);
}

}  // namespace

int RunRun(const base::Invocation& invocation) {
  if (invocation.rest().empty()) {
    return Report(base::MakeError(base::ErrorCode::kInvalid, "run what?")
                      .WithHint("partita-sim run --node NODE -- COMMAND…"));
  }
  return RunInView(invocation, invocation.rest());
}

int RunShell(const base::Invocation& invocation) {
  const char* shell = std::getenv("SHELL");
  return RunInView(invocation, {shell != nullptr && *shell != '\0' ? shell : "/bin/sh"});
}

}  // namespace partita::sim::tool
