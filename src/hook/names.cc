#include "hook/names.h"

#include <string>
#include <vector>

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
  return RunCdiHook({arguments.begin() + 1, arguments.end()}, wishes);
}

// Old CDI files call their hooks so.
int ContainerToolkit(std::span<char*> arguments) {
  const Wishes wishes = StartClean();
  if (arguments.size() > 1 && std::string_view(arguments[1]) == "hook")
    return RunCdiHook({arguments.begin() + 2, arguments.end()}, wishes);
  const Report report("nvidia-ctk", Report::Level::kWarning);
  report.Error(base::MakeError(base::ErrorCode::kUnsupported, "only its verb \"hook\" is here")
                   .WithHint("the other verbs are commands of partita: partita help"));
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
