#include "hook/names.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "hook/cdi/hooks.h"
#include "hook/legacy/cli_arguments.h"
#include "hook/legacy/prestart.h"
#include "hook/report.h"
#include "hook/runtime/runtime.h"
#include "hook/start.h"

namespace partita::hook {
namespace {

int CdiHook(std::span<char*> arguments) {
  const Wishes wishes = StartClean();
  LimitWork();
  return RunCdiHook({arguments.begin() + 1, arguments.end()}, wishes);
}

// Old CDI files call their hooks so. Everything else is no hook, and partita's: it becomes that,
// under the same name.
int ContainerToolkit(std::span<char*> arguments) {
  if (arguments.size() > 1 && std::string_view(arguments[1]) == "hook") {
    const Wishes wishes = StartClean();
    LimitWork();
    return RunCdiHook({arguments.begin() + 2, arguments.end()}, wishes);
  }
  const Report report("nvidia-ctk", Report::Level::kWarning);
  const base::Result<std::string> self = base::ReadLink("/proc/self/exe");
  if (!self.ok()) {
    report.Error(self.error());
    return 1;
  }
  const std::string program = self->substr(0, self->rfind('/')) + "/partita";
  std::string name = "nvidia-ctk";
  std::vector<char*> words = {name.data()};
  words.insert(words.end(), arguments.begin() + 1, arguments.end());
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  report.Error(base::ErrnoError("could not exec " + program)
                   .WithHint("only its verb \"hook\" works without partita beside partita-hook"));
  return 1;
}

constexpr Name kNames[] = {
    {"nvidia-cdi-hook", CdiHook},
    {"nvidia-container-cli", RunContainerCli},
    {"nvidia-container-runtime", RunRuntime},
    {"nvidia-container-runtime-hook", RunPrestartHook},
    {"nvidia-container-runtime.cdi", RunRuntime},
    {"nvidia-container-runtime.legacy", RunRuntime},
    {"nvidia-container-toolkit", RunPrestartHook},
    {"nvidia-ctk", ContainerToolkit},
    {"partita-hook", CdiHook},
};

}  // namespace

std::span<const Name> Names() { return kNames; }

int Run(std::span<char*> arguments) {
  const std::string_view path = arguments.empty() ? "" : arguments[0];
  const std::string_view name = path.substr(path.rfind('/') + 1);
  std::vector<std::string> names;
  for (const Name& each : kNames) {
    if (each.name == name) return each.run(arguments);
    names.emplace_back(each.name);
  }
  const Report report("partita-hook", Report::Level::kWarning);
  report.Error(
      base::MakeError(base::ErrorCode::kInvalid, "there is no program {} in it", base::Quoted(name))
          .WithHint("call it as " + base::JoinWithOr(names)));
  return 2;
}

}  // namespace partita::hook
