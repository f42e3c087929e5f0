// What a look at the machine tells the ledger: which devices exist, and whether those that pods
// hold are still the ones that they were given.
#pragma once

#include <optional>
#include <set>

#include "model/instance_key.h"
#include "model/inventory.h"
#include "service/ledger/decision.h"

namespace partita::service::ledger {

// The GPU instances that somebody asked for, by the node's layout. Absent: whatever exists is
// wanted, as where people lay out GPUs by hand.
using Asked = std::optional<std::set<model::InstanceKey>>;

// A GPU that cannot be read stays as it was last seen, and so does one that is missing. A MIG
// device that is not the one seen before has a new incarnation; after a reboot (`new_boot`) all
// have. Pods keep a device that came back under the same UUID at the same place, since kubelet goes
// by the id; a device that is not there any more is marked gone, and has no atoms until it is back
// and nobody was given them meanwhile. A new GPU instance that was not asked for, which no
// operation and no claim makes, is foreign.
[[nodiscard]] Decision Observe(const State& state,
                               const model::Inventory& inventory,
                               const Asked& asked,
                               bool new_boot = false);

// The MIG devices that exist, as last seen; foreign ones are left out.
[[nodiscard]] std::vector<MigDevice> OwnMigDevices(const State& state);

}  // namespace partita::service::ledger
