#pragma once

#include "base/value.h"
#include "cli/draw/drawing.h"
#include "model/inventory.h"

namespace partita::cli {

// Each GPU's mode, its slices to scale, what still fits and who runs in them.
[[nodiscard]] Lines DrawMigShow(const model::Inventory& node, const Look& look);
// partita.dev/mig/v1, kind MigState.
[[nodiscard]] base::Value MigShowDocument(const model::Inventory& node);

// "MIG on", "MIG off, on after a GPU reset"
[[nodiscard]] Line MigModeLine(const model::Gpu& gpu, int indent);
// A process that holds a GPU or a slice of it, as documents show it.
[[nodiscard]] base::Value HolderValue(const model::Process& process);
// "hiddenHolders" and "holdersUnknown", each where there is something to say.
void SetUnnamed(base::Value& map,
                const std::vector<model::HiddenHolder>& hidden,
                const std::optional<base::Error>& unknown);

}  // namespace partita::cli
