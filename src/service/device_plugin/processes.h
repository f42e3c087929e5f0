// Whether anybody is at work on a device, as far as the driver's list of processes tells.
#pragma once

#include "model/inventory.h"
#include "service/ledger/state.h"

namespace partita::service::device_plugin {

// A process is on it, or nobody can say. A process on all of a GPU is on each part of it.
[[nodiscard]] bool MayBeInUse(const ledger::Device& device, const model::Inventory& inventory);

// A process on it is the holder's, or of a pod whose name is not known. Here what nobody can say
// counts as nobody.
[[nodiscard]] bool MayBeUsedBy(const ledger::Hold& hold, const model::Inventory& inventory);

}  // namespace partita::service::device_plugin
