// Which GPU instance a fault is of. An event tells its id, and drivers give ids again: to another
// instance in another place of the memory.
#pragma once

#include "service/health/state.h"

namespace partita::service::health {

// After a look at the instances of this GPU. A fault of one that is no more, or of a compute
// instance that is no more, becomes one of what it lay in: the memory is still there, under others.
// But an application's error went with it.
void FollowInstances(Health& health, const GpuFacts& gpu);

}  // namespace partita::service::health
