// The reference's words for what CDI files have and leave out: --feature-flag and --disable-hook of
// its programs.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/cdi/generate.h"
#include "service/cdi/node_files.h"

namespace partita::service::cdi {

inline constexpr std::string_view kExplicitDriverLibraries = "enable-explicit-driver-libraries";
inline constexpr std::string_view kNoGroups = "no-additional-gids-for-device-nodes";
inline constexpr std::string_view kNoSockets = "disable-ipc-discoverer";

struct Features {
  bool explicit_libraries = false;
  bool groups = true;   // of nodes that not everybody may open
  bool sockets = true;  // of the driver's services
  std::set<std::string> disabled_hooks{};
  bool operator==(const Features&) const = default;
  void ApplyTo(GenerateOptions& generate, NodeFilesOptions& files) const;
};

// Those that partita does not need are accepted and mean nothing; an unknown one is kInvalid, by
// its name alone.
[[nodiscard]] base::Result<void> AddFeatureFlag(const std::string& flag, Features& features);
// "all", or a hook of CDI files: one that is misspelt would be there without a word.
[[nodiscard]] base::Result<void> DisableHook(const std::string& name, Features& features);
[[nodiscard]] base::Result<void> CheckHookName(const std::string& name);

}  // namespace partita::service::cdi
