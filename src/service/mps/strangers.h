// Programs that compute on a domain's devices without its daemon: they began while it was away.
#pragma once

#include <string>
#include <vector>

#include "model/inventory.h"
#include "service/mps/domain.h"

namespace partita::service::mps {

// Neither a server of MPS nor a client, as the driver lists them. Where it does not say on which
// MIG device a process is, nobody is accused.
[[nodiscard]] std::vector<model::Process> StrangersOn(const Domain& domain,
                                                      const model::Inventory& inventory);

// What to say of them, and what to do; empty: there are none.
[[nodiscard]] std::string TellOfStrangers(const std::vector<model::Process>& strangers);

}  // namespace partita::service::mps
