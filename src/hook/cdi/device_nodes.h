// Hooks about the driver's device nodes: who may make them, how they may be opened, what of the
// driver's /proc shows.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "base/result.h"
#include "hook/call.h"
#include "hook/report.h"

namespace partita::hook {

// disable-device-node-modification: the container reads driver parameters that tell its libraries
// to make no nodes. Nothing where the host's say so already, or are absent.
[[nodiscard]] base::Result<void> ProtectDeviceNodes(const HookCall& call);
[[nodiscard]] base::Result<void> RunProtectDeviceNodes(std::span<const std::string> arguments,
                                                       CallInput& input,
                                                       const Report& report);

// restrict-proc: /proc/driver/nvidia shows the GPUs and instances whose nodes are in /dev.
[[nodiscard]] base::Result<void> RunRestrictProc(std::span<const std::string> arguments,
                                                 CallInput& input,
                                                 const Report& report);

// chmod: paths that are absent or have the mode are skipped; where it is not allowed, as with the
// host's /dev, too.
[[nodiscard]] base::Result<void> ChangeModes(const HookCall& call,
                                             std::span<const std::string> paths,
                                             mode_t mode,
                                             const Report& report);
[[nodiscard]] base::Result<void> RunChmod(std::span<const std::string> arguments,
                                          CallInput& input,
                                          const Report& report);

}  // namespace partita::hook
