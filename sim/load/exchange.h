// Another board in the slot of a GPU: what stays is of the slot, everything else is the product's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "sim/load/catalog.h"
#include "sim/state/layout.h"

namespace partita::sim::load {

// The board that comes. Names that are left open follow from those of the board that goes.
struct NewBoard {
  std::string product;  // of the catalog
  std::string uuid, serial;
};

// The machine with that board as its GPU `gpu`. Address, bridges, NUMA node, minor and module
// number stay. A board that reached its partner over as many NVLinks does so again; with another
// number of them both have none.
[[nodiscard]] base::Result<std::unique_ptr<Machine>> Exchange(const Machine& machine,
                                                              std::uint32_t gpu,
                                                              const NewBoard& board,
                                                              const Catalog& catalog);

}  // namespace partita::sim::load
