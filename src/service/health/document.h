// Health for people and programs: partita.dev/health/v1, every GPU and MIG device with what is
// wrong with it.
#pragma once

#include <vector>

#include "base/value.h"
#include "model/inventory.h"
#include "model/mps_domain.h"
#include "service/health/state.h"

namespace partita::service::health {

// `domains` that give no shares are told too: their devices get no work that way.
[[nodiscard]] base::Value HealthDocument(const model::Inventory& inventory,
                                         const Health& health,
                                         Time now,
                                         const std::vector<model::MpsDomain>& domains = {});

}  // namespace partita::service::health
