// For which container a hook was called.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/root_dir.h"
#include "oci/state.h"

namespace partita::hook {

struct HookCall {
  oci::State state;
  base::RootDir root;  // the container's
};

// From a file ("" and "-": standard input; 1 MiB at most).
[[nodiscard]] base::Result<oci::State> ReadState(std::string_view container_spec);

// With the state. The container's root is the state's, else that of the bundle's config.json; the
// host's own root is refused.
[[nodiscard]] base::Result<HookCall> ReadHookCall(std::string_view container_spec);

// A container's root by its path; the host's own is refused (kInvalid).
[[nodiscard]] base::Result<base::RootDir> OpenContainerRoot(const std::string& path);
[[nodiscard]] base::Result<base::RootDir> NotTheHosts(base::RootDir root);

}  // namespace partita::hook
