// The part of the labels that describes GPUs and MIG devices as resources.
#pragma once

#include <vector>

#include "config/plugin_config.h"
#include "model/inventory.h"
#include "service/labels/label_set.h"

namespace partita::service::labels {

// GPUs that the driver lists, in its order. What is only on the bus, or gone from it, is none.
[[nodiscard]] std::vector<const model::Gpu*> ListedGpus(const model::Inventory& inventory);

// GPUs of one product.
struct ProductGroup {
  std::string name;  // the driver's
  std::vector<const model::Gpu*> gpus;
};
// In the order of their first GPUs.
[[nodiscard]] std::vector<ProductGroup> GroupByProduct(const std::vector<const model::Gpu*>& gpus);

// The one that stands for all of its product: one that answers, since a lost one tells nothing; of
// those a whole one, then the last.
[[nodiscard]] const model::Gpu& Representative(const ProductGroup& group);

// nvidia.com/gpu.* and nvidia.com/mig-*. `gpus` is not empty.
void SetResourceLabels(const std::vector<const model::Gpu*>& gpus,
                       const config::PluginConfig& config,
                       LabelSet& labels);

}  // namespace partita::service::labels
