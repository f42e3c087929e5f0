#pragma once

#include "base/value.h"
#include "cli/draw/drawing.h"
#include "model/inventory.h"

namespace partita::cli {

// What each kind of GPU can be divided into, the smallest first, as the driver reports it.
[[nodiscard]] Lines DrawMigProfiles(const model::Inventory& node, const Look& look);
// partita.dev/mig/v1, kind MigProfiles.
[[nodiscard]] base::Value MigProfilesDocument(const model::Inventory& node);

}  // namespace partita::cli
