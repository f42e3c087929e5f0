// How the GPUs of this machine reach each other. In a job of the driver.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "hw/nvml/device_calls.h"
#include "model/inventory.h"

namespace partita::hw::nvml {

struct Peer {
  model::PciAddress pci;
  nvmlDevice_t device = nullptr;
};

// What one GPU says of its links.
struct LinksOfGpu {
  model::PciAddress gpu;
  std::map<model::PciAddress, model::PathLevel> paths;  // to the peers behind it
  // Direct ones that are active, to any peer; 0: none.
  std::map<model::PciAddress, std::uint32_t> nvlinks;
  bool partly = false;         // some could not be read: there may be more
  std::uint32_t switched = 0;  // active ones that end in switches
};

// `peers` are all GPUs of the node, ordered by address. Paths are symmetric, so they are asked for
// the peers behind this GPU only.
[[nodiscard]] LinksOfGpu ReadLinks(DeviceCalls& calls,
                                   const model::PciAddress& gpu,
                                   std::span<const Peer> peers);

struct NodeLinks {
  std::vector<model::GpuLink> links;
  std::vector<model::SwitchLinks> switch_links;
};
// What the GPUs say, put together: each pair once, the lower address first. Of two counts of its
// links the lower holds, as NVIDIA's allocator needs them equal and fails where they are not; one
// that is not whole is believed where there is no other.
[[nodiscard]] NodeLinks Combine(std::span<const LinksOfGpu> all);

}  // namespace partita::hw::nvml
