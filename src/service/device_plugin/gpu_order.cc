#include "service/device_plugin/gpu_order.h"

#include <algorithm>
#include <set>

namespace partita::service::device_plugin {
namespace {

using Gpus = std::vector<OrderedGpu>;

// A board that changed its slot is remembered at the old one too, without an index there.
void DropTwins(Gpus& gpus) {
  std::set<model::GpuUuid> uuids;
  std::erase_if(gpus, [&](const OrderedGpu& each) {
    return each.gpu->uuid && !uuids.insert(*each.gpu->uuid).second;
  });
}

bool CountsAlongTheBus(const Gpus& gpus) {
  const OrderedGpu* before = nullptr;
  for (const OrderedGpu& each : gpus) {
    if (!each.index) continue;
    if (before != nullptr && before->gpu->pci >= each.gpu->pci) return false;
    before = &each;
  }
  return true;
}

// The gap must be there: where the driver counted anew, the board has no index any more.
void FillGaps(Gpus& gpus) {
  std::uint32_t next = 0;
  for (auto each = gpus.begin(); each != gpus.end(); ++each) {
    if (!each->index) {
      const auto after =
          std::find_if(each, gpus.end(), [](const OrderedGpu& one) { return one.index; });
      if (after != gpus.end() && after->index->value() <= next) continue;
      each->index = model::GpuIndex(next);
    }
    next = each->index->value() + 1;
  }
}

}  // namespace

std::vector<OrderedGpu> InOrder(const model::Inventory& inventory) {
  Gpus gpus;
  for (const model::Gpu& gpu : inventory.gpus) gpus.push_back({&gpu, gpu.index});
  std::stable_sort(gpus.begin(), gpus.end(), [](const OrderedGpu& a, const OrderedGpu& b) {
    if (a.index && b.index) return *a.index < *b.index;
    return a.index.has_value() && !b.index.has_value();
  });
  DropTwins(gpus);
  if (!CountsAlongTheBus(gpus)) return gpus;
  std::stable_sort(gpus.begin(), gpus.end(), [](const OrderedGpu& a, const OrderedGpu& b) {
    return a.gpu->pci < b.gpu->pci;
  });
  FillGaps(gpus);
  return gpus;
}

}  // namespace partita::service::device_plugin
