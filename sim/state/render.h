// The driver's files: /proc/driver/nvidia*, /proc/devices, /proc/modules and the nodes in /dev, as
// renderings of the state under the node's root.
//
// Everything here may be repeated, and a rendering that was cut short is completed by the next one.
// Errors are errno values: the first one is returned and the rest is still done (without CAP_MKNOD
// the nodes fail and the files do not).
#pragma once

#include "sim/state/layout.h"

namespace partita::sim {

// The whole tree, its directories included; removes what must not be there. For `partita-sim up`.
int RenderDriverFiles(const char* root, const Machine& machine, const Slot& slot);

// The whole tree, for a commit. ENOENT where `<root>/proc` and `<root>/dev` are not there: a
// container that was given the state alone.
int RenderCommitted(const char* root, const Machine& machine, const Slot& slot);

// What differs between two states, of which the first is shown.
int RenderDifference(const char* root, const Machine& machine, const Slot& then, const Slot& now);

}  // namespace partita::sim
