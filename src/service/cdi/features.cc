#include "service/cdi/features.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace partita::service::cdi {
namespace {

constexpr std::string_view kWithoutMeaning[] = {"disable-nvsandboxutils", "disable-nvsandbox-utils",
                                                "disable-multiple-csv-devices"};
// One of the reference's that partita never makes: a static program cannot ask NVML.
constexpr std::string_view kNeverMade = "apply-cuda-memory-limits";

}  // namespace

void Features::ApplyTo(GenerateOptions& generate, NodeFilesOptions& files) const {
  files.files.explicit_libraries = explicit_libraries;
  files.files.ipc = sockets;
  generate.hooks.additional_gids = groups;
  generate.hooks.disabled = disabled_hooks;
}

base::Result<void> AddFeatureFlag(const std::string& flag, Features& features) {
  if (flag == kExplicitDriverLibraries) {
    features.explicit_libraries = true;
  } else if (flag == kNoGroups) {
    features.groups = false;
  } else if (flag == kNoSockets) {
    features.sockets = false;
  } else if (std::find(std::begin(kWithoutMeaning), std::end(kWithoutMeaning), flag) ==
             std::end(kWithoutMeaning)) {
    return base::MakeError(base::ErrorCode::kInvalid, "{}: not one that is known",
                           base::Quoted(flag));
  }
  return {};
}

base::Result<void> CheckHookName(const std::string& name) {
  const auto known = HookNames();
  if (std::find(known.begin(), known.end(), name) != known.end()) return {};
  const std::vector<std::string> names(known.begin(), known.end());
  return base::MakeError(base::ErrorCode::kInvalid, "{}: not a hook of a CDI file",
                         base::Quoted(name))
      .WithHint("there are " + base::Join(names, ", "));
}

base::Result<void> DisableHook(const std::string& name, Features& features) {
  if (name != "all" && name != kNeverMade) TRY_VOID(CheckHookName(name));
  features.disabled_hooks.insert(name);
  return {};
}

}  // namespace partita::service::cdi
