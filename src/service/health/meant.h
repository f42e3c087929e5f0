// Which parts an operator means.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "model/inventory.h"
#include "service/health/state.h"

namespace partita::service::health {

// "all"; a GPU by index, UUID, PCI address or product, with everything on it; a MIG device by UUID,
// with its GPU instance where it is the only one in it.
// kNotFound: no such device; kInvalid: no device is named so.
[[nodiscard]] base::Result<std::function<bool(const Part&)>> MeantBy(
    const std::string& text, const model::Inventory& inventory);

}  // namespace partita::service::health
