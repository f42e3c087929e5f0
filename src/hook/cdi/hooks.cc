#include "hook/cdi/hooks.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "base/text.h"
#include "hook/cdi/application_profile.h"
#include "hook/cdi/create_symlinks.h"
#include "hook/cdi/cuda_compat.h"
#include "hook/cdi/device_nodes.h"
#include "hook/cdi/update_ldcache.h"
#include "hook/flags.h"
#include "hook/report.h"

namespace partita::hook {
namespace {

using Arguments = std::span<const std::string>;

base::Result<void> Nothing(Arguments, const Report&) { return {}; }

struct Hook {
  std::string_view name;
  base::Result<void> (*run)(Arguments, const Report&);
};

constexpr Hook kHooks[] = {
    {"chmod", RunChmod},
    {"create-symlinks", RunCreateSymlinks},
    {"disable-device-node-modification", RunProtectDeviceNodes},
    {"enable-cuda-compat", RunEnableCudaCompat},
    {"noop", Nothing},
    {"restrict-proc", RunRestrictProc},
    {"update-application-profile", RunUpdateApplicationProfile},
    {"update-ldcache", RunUpdateLdcache},
};

bool IsFlag(std::string_view word, std::span<const std::string_view> names) {
  word = word.substr(0, word.find('='));
  return std::find(names.begin(), names.end(), word) != names.end();
}

// Flags before the hook's name. Others may be a newer version's: the hook decides.
void TakeWishes(Arguments before, Wishes& wishes) {
  constexpr std::string_view kDebug[] = {"--debug", "-debug", "-d"};
  constexpr std::string_view kQuiet[] = {"--quiet", "-quiet"};
  for (const std::string& word : before) {
    const bool on = !word.ends_with("=false");
    if (IsFlag(word, kDebug)) wishes.debug = on;
    if (IsFlag(word, kQuiet)) wishes.quiet = on;
  }
}

Report::Level LevelOf(const Wishes& wishes) {
  if (wishes.quiet) return Report::Level::kError;
  return wishes.debug ? Report::Level::kDebug : Report::Level::kWarning;
}

}  // namespace

int RunCdiHook(std::vector<std::string> arguments, Wishes wishes) {
  const auto name = std::find_if(arguments.begin(), arguments.end(),
                                 [](const std::string& word) { return !word.starts_with('-'); });
  TakeWishes(std::span(arguments.begin(), name), wishes);
  const Report report("nvidia-cdi-hook", LevelOf(wishes));
  if (name == arguments.end()) {
    report.Warning("no hook is named: nothing is done");
    return 0;
  }
  const auto* const hook = std::find_if(std::begin(kHooks), std::end(kHooks),
                                        [&](const Hook& each) { return each.name == *name; });
  if (hook == std::end(kHooks)) {
    report.Warning("there is no hook " + base::Quoted(*name) + ": nothing is done");
    return 0;
  }
  base::Result<void> done = hook->run(std::span(name + 1, arguments.end()), report);
  if (done.ok()) return 0;
  report.Error(std::move(done).error().Within(*name));
  return 1;
}

}  // namespace partita::hook
