// A /dev of its own.
#pragma once

#include <span>

#include "base/result.h"
#include "cdi/spec.h"
#include "service/run/namespaces.h"

namespace partita::service::run {

// In this process's own mount namespace: /dev with what every program uses (null, terminals, shared
// memory), and these nodes of the host under their paths. Root's old /dev is taken away; a user's,
// who may not do that, is covered.
[[nodiscard]] base::Result<void> ShowDevices(std::span<const partita::cdi::DeviceNode> nodes,
                                             Rights rights);

}  // namespace partita::service::run
