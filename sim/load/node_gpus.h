// The `gpus:` of a node file and what hangs together with them: NUMA nodes, NVLink, addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "config/document.h"
#include "config/problems.h"
#include "sim/load/catalog.h"
#include "sim/state/layout.h"

namespace partita::sim::load {

// What the file says of the GPUs that is not of their boards; by index.
struct GpuStart {
  bool persistence = true;
  std::vector<bool> mig;
  std::vector<PciDriver> drivers;
  std::vector<std::optional<std::uint32_t>> iommu_groups;
};

// Fills the boards, in PCI order. An error is a product file that cannot be read; what is wrong
// with the node file itself goes to `problems`.
[[nodiscard]] base::Result<GpuStart> ReadGpus(const config::Node& root,
                                              const Catalog& catalog,
                                              config::Problems& problems,
                                              Machine& machine);

// The open modules need the GPU's own system processor, which came with Turing (NVIDIA's driver
// installation guide, "Kernel Modules").
[[nodiscard]] bool IsTooOldForOpenModules(const Board& board);

// Nothing after a problem.
[[nodiscard]] std::optional<PciFunction> ReadPciAddress(const config::Node& node,
                                                        config::Problems& problems);

}  // namespace partita::sim::load
