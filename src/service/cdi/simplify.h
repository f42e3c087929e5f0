// A spec without repetition, in the order of the reference.
#pragma once

#include "cdi/spec.h"

namespace partita::service::cdi {

// Whatever is there twice in one place is there once, the first; what every container gets anyway
// is not repeated in a device, unless that would leave the device empty; devices by name, nodes and
// mounts by depth and path. Environment, hooks and links keep their order, which has a meaning.
void Simplify(partita::cdi::Spec& spec);

// Adds the device "all" with what all others have, and simplifies again. Nothing where one of that
// name is there.
void AddAllDevice(partita::cdi::Spec& spec);

}  // namespace partita::service::cdi
