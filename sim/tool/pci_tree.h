// <root>/sys: the PCI devices of a node and the driver's module, as files to mount.
#pragma once

#include <string>

#include "base/result.h"
#include "sim/load/node_file.h"
#include "sim/state/layout.h"

namespace partita::sim::tool {

// What the driver does not change: devices, bridges, NVSwitches, IOMMU groups. For a root that is
// being built.
[[nodiscard]] base::Result<void> MakePciTree(const std::string& root, const load::LoadedNode& node);

// The GPUs of a tree that was made, after one of them was exchanged: in place, since views have
// their directories mounted. Their drivers are RenderDriverLinks's to add.
[[nodiscard]] base::Result<void> RenderExchangedGpus(const std::string& root,
                                                     const Machine& machine);

// What follows the state: the driver that each GPU is bound to and the module's own directory, and
// RenderPresence.
// Idempotent; to be called after whatever changes those.
[[nodiscard]] base::Result<void> RenderDriverLinks(const std::string& root,
                                                   const Machine& machine,
                                                   const Slot& slot);

// Whether each GPU answers on the bus.
[[nodiscard]] base::Result<void> RenderPresence(const std::string& root,
                                                const Machine& machine,
                                                const Slot& slot);

}  // namespace partita::sim::tool
