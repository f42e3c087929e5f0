// Which of the free devices a container had best get: kubelet's GetPreferredAllocation. A pod fails
// where this fails, so it never does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "service/device_plugin/stock.h"

namespace partita::service::device_plugin {

// `size` of `available`, with all of `required`; kubelet sends both in random order. Whole GPUs are
// taken by how well they reach each other (placement.h), with what `inventory` knows of their
// links: where it knows nothing, by NUMA node and index. Shares and MIG devices go by the policy,
// counted by the GPU that they are on. Where some are not given together (shares of which one is
// the most, of several MPS daemons, of one and what has none), the answer is one that Allocate
// takes, if there is any. Ids that are not offered any more are taken last. All that is available
// where that is too little; nothing where no answer is right, because more is required than asked
// for, or something that is not available.
[[nodiscard]] std::vector<std::string> Prefer(const Stock& stock,
                                              const model::Inventory& inventory,
                                              config::SharePolicy policy,
                                              const std::vector<std::string_view>& available,
                                              const std::vector<std::string_view>& required,
                                              std::size_t size);

}  // namespace partita::service::device_plugin
