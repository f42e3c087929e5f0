// Which GPUs a rule of a configuration means. One grammar for offers, modes, sharing and exclusion.
#pragma once

#include <string>
#include <vector>

#include "model/ids.h"
#include "model/inventory.h"

namespace partita::model {

// Every key that is there must match, each by any of its values; a key without values matches
// every GPU.
struct GpuSelect {
  std::vector<GpuIndex> index;
  std::vector<GpuUuid> uuid;
  std::vector<PciAddress> pci;
  std::vector<std::string> product;  // "H200", "NVIDIA H200", "nvidia-h200"
  std::vector<int> numa;
  std::vector<std::string> profile;  // MIG is on and the GPU has such a MIG device: "1g.18gb"
  bool operator==(const GpuSelect&) const = default;
};

[[nodiscard]] bool Matches(const GpuSelect& select, const Gpu& gpu);

}  // namespace partita::model
