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

base::Result<void> Nothing(Arguments, CallInput&, const Report&) { return {}; }

struct Hook {
  std::string_view name;
  base::Result<void> (*run)(Arguments, CallInput&, const Report&);
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

const Hook* FindHook(std::string_view name) {
  const auto* const hook = std::find_if(std::begin(kHooks), std::end(kHooks),
                                        [&](const Hook& each) { return each.name == name; });
  return hook == std::end(kHooks) ? nullptr : hook;
}

bool IsFlag(std::string_view word, std::span<const std::string_view> names) {
  word = word.substr(0, word.find('='));
  return std::find(names.begin(), names.end(), word) != names.end();
}
bool IsDebug(std::string_view word) {
  constexpr std::string_view kNames[] = {"--debug", "-debug", "-d"};
  return IsFlag(word, kNames);
}
bool IsQuiet(std::string_view word) {
  constexpr std::string_view kNames[] = {"--quiet", "-quiet"};
  return IsFlag(word, kNames);
}

// Flags before the hook's name.
void TakeWishes(Arguments before, Wishes& wishes) {
  for (const std::string& word : before) {
    const bool on = !word.ends_with("=false");
    if (IsDebug(word)) wishes.debug = on;
    if (IsQuiet(word)) wishes.quiet = on;
  }
}

// A newer version's flags may come before the name, each with or without a value of its own. A word
// after one is the name if a hook is called so, or if none is named later.
std::size_t NameAt(Arguments words) {
  std::size_t name = words.size();
  bool may_be_value = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with('-')) {
      may_be_value =
          !IsDebug(word) && !IsQuiet(word) && word.find('=') == std::string::npos && word != "--";
      continue;
    }
    if (word == kInTurn || FindHook(word) != nullptr) return i;
    name = std::min(name, i);
    if (!may_be_value) return name;
    may_be_value = false;
  }
  return name;
}

Report::Level LevelOf(const Wishes& wishes) {
  if (wishes.quiet) return Report::Level::kError;
  return wishes.debug ? Report::Level::kDebug : Report::Level::kWarning;
}

// The first word is its name.
base::Result<void> RunOne(Arguments words, CallInput& input, const Report& report) {
  const Hook* const hook = FindHook(words[0]);
  if (hook == nullptr) {
    report.NotDone("there is no hook " + base::Quoted(words[0]) + ": nothing is done");
    return {};
  }
  base::Result<void> done = hook->run(words.subspan(1), input, report);
  if (!done.ok()) return std::move(done).error().Within(words[0]);
  return {};
}

base::Result<void> RunInTurn(Arguments words, CallInput& input, const Report& report) {
  while (!words.empty()) {
    const auto end = std::find(words.begin(), words.end(), kThen);
    const auto count = static_cast<std::size_t>(end - words.begin());
    if (count != 0) TRY_VOID(RunOne(words.first(count), input, report));
    words = words.subspan(std::min(count + 1, words.size()));
  }
  return {};
}

}  // namespace

int RunCdiHook(std::vector<std::string> arguments, Wishes wishes) {
  const std::size_t at = NameAt(arguments);
  const Arguments words = arguments, before = words.first(at);
  TakeWishes(before, wishes);
  const Report report("nvidia-cdi-hook", LevelOf(wishes));
  if (at == words.size()) {
    report.NotDone("no hook is named: nothing is done");
    return 0;
  }
  const std::string& name = words[at];
  if (name != kInTurn && FindHook(name) == nullptr) {
    report.NotDone("there is no hook " + base::Quoted(name) + ": nothing is done");
    return 0;
  }
  for (const std::string& word : before) {
    if (word.starts_with('-') && !IsDebug(word) && !IsQuiet(word) && word != "--")
      report.Warning("there is no flag " + base::Quoted(word) +
                     " before a hook's name: it is ignored");
  }
  CallInput input;
  base::Result<void> done = name == kInTurn ? RunInTurn(words.subspan(at + 1), input, report)
                                            : RunOne(words.subspan(at), input, report);
  if (done.ok()) return 0;
  report.Error(done.error());
  return 1;
}

}  // namespace partita::hook
