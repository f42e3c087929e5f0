// One file of data/products as the part of a board that is the same wherever it is plugged in.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "config/document.h"
#include "config/problems.h"
#include "sim/load/catalog.h"
#include "sim/state/layout.h"

namespace partita::sim::load {

struct Product {
  Board board{};              // no address, no identity, no links
  std::uint32_t nvlinks = 0;  // links that the board has; the node says where they go
  bool fabric = false;        // answers for its NVLink fabric
};

// All problems at once, in the form of config/problems.h.
[[nodiscard]] base::Result<Product> LoadProduct(const DataFile& file);

// `overrides:` of a GPU in a node file: keys of a product file with plain values.
void ApplyOverrides(const config::Node& overrides, config::Problems& problems, Product& product);

}  // namespace partita::sim::load
