// Does to a container what was planned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "hook/cdi/cuda_compat.h"
#include "hook/legacy/plan.h"
#include "hook/legacy/root.h"
#include "hook/report.h"

namespace partita::hook {

struct LegacyContainer {
  std::int64_t pid = 0;  // of its process, which does not run yet
  LegacyRoot root;
  std::string ldconfig = "/sbin/ldconfig";
  bool cgroups = true;                    // false: who may open what is the engine's business
  std::optional<CompatOptions> compat{};  // the image's own CUDA libraries, where they are to count
};

// Everything of the host is held by descriptor before the container's namespace is entered: a node
// must be the device that was planned (kConflict), a file that is missing is told (kNotFound),
// but a socket may be gone. Then mounts, links, /proc/driver/nvidia, EGL's profile, the loader's
// cache, and at last the devices of its cgroup. A failure leaves the container half made,
// and its runtime takes it away.
[[nodiscard]] base::Result<void> CarryOut(const LegacyPlan& plan,
                                          const LegacyContainer& container,
                                          const Report& report);

}  // namespace partita::hook
