// The document that tells partita-hook all it knows of this node.
#pragma once

#include "cdi/node_devices.h"
#include "model/inventory.h"
#include "service/cdi/node_files.h"

namespace partita::service::cdi {

// Pure. What is broken has no name in the specification; a GPU in MIG mode has one, since somebody
// may ask for it, but is not among "all". Without any device the specification is without any too.
[[nodiscard]] partita::cdi::NodeDevices MakeNodeDevices(const model::Inventory& inventory,
                                                        const NodeFiles& files,
                                                        const HookSet& hooks);

}  // namespace partita::service::cdi
