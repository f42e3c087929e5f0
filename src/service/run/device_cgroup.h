// A cgroup in which only some devices can be opened.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cdi/spec.h"
#include "hook/container/device_filter.h"

namespace partita::service::run {

// What every program may open: null, zero and the like, terminals; and the nodes.
[[nodiscard]] std::vector<hook::DeviceRule> RulesFor(
    std::span<const partita::cdi::DeviceNode> nodes);

// Makes one below this process's own, as root, and returns its directory; nobody is in it yet.
// kUnavailable: here is none that we may write. kConflict: the cgroup above refuses one of the
// rules' last `needed` devices.
[[nodiscard]] base::Result<std::string> MakeDeviceCgroup(std::span<const hook::DeviceRule> rules,
                                                         std::size_t needed);

// Moves this process into it.
[[nodiscard]] base::Result<void> EnterCgroup(const std::string& directory);

}  // namespace partita::service::run
