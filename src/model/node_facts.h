// What files of a node tell beside its inventory: rarely asked for, and nothing that the driver
// knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace partita::model {

// The host under a virtual GPU, as its PCI config space tells the guest.
struct VgpuHost {
  std::string driver_version;  // "550.54.16"; both empty where it does not tell
  std::string driver_branch;   // "r550_40"
  bool operator==(const VgpuHost&) const = default;
};

struct VgpuFacts {
  std::optional<VgpuHost> host;  // of the last virtual GPU by address; absent: there is none
  bool operator==(const VgpuFacts&) const = default;
};

struct NodeFacts {
  std::optional<std::string> machine{};  // the firmware's name of it; absent: it has none
  std::uint32_t gpus_on_bus = 0;         // NVIDIA's display controllers, whoever drives them
  // Absent: config spaces cannot be read in whole, which takes root.
  std::optional<VgpuFacts> vgpu{};
  bool operator==(const NodeFacts&) const = default;
};

}  // namespace partita::model
