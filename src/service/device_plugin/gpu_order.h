// The GPUs of a node in an order that does not change when one of them falls silent.
#pragma once

#include <optional>
#include <vector>

#include "model/inventory.h"

namespace partita::service::device_plugin {

struct OrderedGpu {
  const model::Gpu* gpu;
  // The driver's, or the one that it had: a lost GPU leaves a gap between its neighbours' indexes.
  // Whoever configured "device 1" means the same board while it is away.
  std::optional<model::GpuIndex> index;
};

// By index. Drivers count along the PCI bus; where this one does, a GPU without an index stands
// where its address belongs, elsewhere behind the others. Each UUID once. Points into `inventory`.
[[nodiscard]] std::vector<OrderedGpu> InOrder(const model::Inventory& inventory);

}  // namespace partita::service::device_plugin
