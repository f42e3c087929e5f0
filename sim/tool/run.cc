#include <limits.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/files.h"
#include "base/text.h"
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

// The file that a command name means, with links resolved; empty when there is none.
std::string ProgramFile(const std::string& name) {
  const char* search = std::getenv("PATH");
  std::vector<std::string> candidates;
  if (name.find('/') != std::string::npos) {
    candidates.push_back(name);
  } else if (search != nullptr) {
    for (const std::string_view folder : base::Split(search, ':')) {
      candidates.push_back(base::JoinPath(folder, name));
    }
  }
  for (const std::string& candidate : candidates) {
    char file[PATH_MAX];
    if (access(candidate.c_str(), X_OK) == 0 && realpath(candidate.c_str(), file) != nullptr) {
      return file;
    }
  }
  return "";
}

// NVIDIA's editor asks /proc/modules whether a driver is loaded, and fails where there is no such
// file. Ours, a link to partita, does not.
void NoteMissingModules(const std::vector<std::string>& command) {
  constexpr std::string_view kEditor = "nvidia-mig-parted";
  if (base::Exists("/proc/modules") || !ProgramFile(command.front()).ends_with(kEditor)) return;
  fmt::print(stderr,
             "partita-sim: {} reads /proc/modules, which this kernel does not have\n"
             "  partita-sim run --proc-modules -- {} gives it one\n",
             kEditor, base::Join(command, " "));
}

int RunInView(const base::Invocation& invocation, const std::vector<std::string>& command) {
  const auto place = ChooseNode(invocation);
  if (!place.ok()) return Report(place.error());
  if (const auto entered = EnterView(place->root, invocation.Has("proc-modules")); !entered.ok()) {
    return Report(entered.error());
  }
  SetEnvironment(place->name);
  NoteMissingModules(command);
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
