// A machine for tests: GPUs whose instances are made and destroyed by hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/inventory.h"
#include "service/ledger/devices.h"
#include "service/ledger/state.h"

namespace partita::service::ledger::testing {

// A GPU instance as its maker thinks of it. `profile` and the slices need not be a product's.
struct Made {
  std::uint32_t profile = 0;
  model::Placement memory;
  std::vector<model::Placement> compute;
};

// `count` GPUs, "GPU-0" at 0000:01:00.0 and so on, that can do MIG.
[[nodiscard]] model::Inventory Machine(std::size_t count);

// Replaces the instances of one. Ids count from 1 and 0 in the order given, and a MIG device's UUID
// follows from the ids alone, as real drivers do it: the same ids are the same UUID.
void LayOut(model::Inventory& machine, std::size_t gpu, const std::vector<Made>& instances);

[[nodiscard]] WholeGpu GpuAt(const model::Inventory& machine, std::size_t gpu);
[[nodiscard]] MigDevice MigAt(const model::Inventory& machine,
                              std::size_t gpu,
                              std::size_t instance,
                              std::size_t compute = 0);

[[nodiscard]] inline Time At(std::int64_t seconds) { return Time(std::chrono::seconds(seconds)); }

}  // namespace partita::service::ledger::testing
