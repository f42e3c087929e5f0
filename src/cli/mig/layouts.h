#pragma once

#include "base/value.h"
#include "cli/draw/drawing.h"
#include "model/inventory.h"

namespace partita::cli {

// Sets of GPU instances that each kind of GPU can hold at once, every one drawn at its best places:
// those that no other contains, or with `all` every one, with what still fits beside it.
[[nodiscard]] Lines DrawMigLayouts(const model::Inventory& node, bool all, const Look& look);
// partita.dev/mig/v1, kind MigLayouts.
[[nodiscard]] base::Value MigLayoutsDocument(const model::Inventory& node, bool all);

}  // namespace partita::cli
