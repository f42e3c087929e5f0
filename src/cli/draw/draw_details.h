// What --details adds to a GPU.
#pragma once

#include "cli/draw/drawing.h"
#include "model/inventory.h"

namespace partita::cli {

// UUID, board, PCI, link and capability facts.
[[nodiscard]] Lines DrawIdentity(const model::Gpu& gpu, int indent, const Look& look);

// A row per MIG device: its name, place, UUID and the capability nodes that open it.
[[nodiscard]] Lines DrawMigDevices(const model::Gpu& gpu, int indent, const Look& look);

// The kinds of GPU instance that this GPU offers, with their placements.
[[nodiscard]] Lines DrawProfiles(const model::Gpu& gpu, int indent, const Look& look);

}  // namespace partita::cli
