// Judges the files that a node's driver draws from its state.
#pragma once

#include "checker.h"
#include "sim/state/layout.h"
#include "tree.h"

namespace partita::torture {

// Capability files and nodes must be exactly those of the live instances; everything else must be
// as in `reference`, the tree that was there when the node came up.
void CheckRendered(const Tree& tree,
                   const Tree& reference,
                   const sim::Machine& machine,
                   const sim::Slot& slot,
                   Findings* findings);

}  // namespace partita::torture
