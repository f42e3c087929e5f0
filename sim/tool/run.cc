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

// Nothing that would lead to another node.
void SetEnvironment(const std::string& node) {
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
