// Where `partita health` gets its document: from the agent of this machine, or from one look of its
// own and what an agent has written down.
#pragma once

#include "base/result.h"
#include "base/value.h"
#include "service/inventory/reader.h"

namespace partita::cli {

// partita.dev/health/v1. kNoDriver: no agent runs here and no driver answers.
[[nodiscard]] base::Result<base::Value> LookAtHealth(
    const service::inventory::ReaderOptions& options);

}  // namespace partita::cli
