// For which container a hook was called.
#pragma once

#include <optional>
#include <string>
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

// Read when it is first asked for: hooks that are done in turn have one standard input, and one
// container.
class CallInput {
 public:
  [[nodiscard]] base::Result<const HookCall*> Read(std::string_view container_spec);

 private:
  std::string from_;
  std::optional<HookCall> call_;
};

// A container's root by its path; the host's own is refused (kInvalid).
[[nodiscard]] base::Result<base::RootDir> OpenContainerRoot(const std::string& path);
// The same, relative to a bundle that is held; `whole` is what messages call it.
[[nodiscard]] base::Result<base::RootDir> OpenContainerRoot(const base::RootDir& bundle,
                                                            const std::string& path,
                                                            const std::string& whole);

}  // namespace partita::hook
