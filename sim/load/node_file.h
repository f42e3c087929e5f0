// A node file (a profile of data/nodes or a user's own) as the machine and the state it starts
// with.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/load/catalog.h"
#include "sim/state/layout.h"

namespace partita::sim::load {

// What the machine's firmware calls it; empty: it does not say.
struct Dmi {
  std::string sys_vendor, product_name;
};

struct LoadedNode {
  std::string name;  // what the file calls itself, else the file's own name
  std::string description;
  std::unique_ptr<Machine> machine;
  // Booted, driver loaded, nothing running. The clock stands at a fixed time: whoever brings the
  // node up starts it.
  std::unique_ptr<Slot> slot;
  std::vector<std::optional<std::uint32_t>> iommu_groups;  // by GPU index
  std::uint32_t switch_device_id = 0;                      // (device << 16) | vendor
  std::optional<Dmi> dmi;                                  // absent: firmware without DMI
};

// Reads `file` with the products of `catalog`. All problems at once, in the form of
// config/problems.h. `node_name` empty: the node is called LoadedNode::name.
[[nodiscard]] base::Result<LoadedNode> LoadNode(const DataFile& file,
                                                const Catalog& catalog,
                                                std::string_view node_name);

// Names become directories, host names and labels: lower-case letters, digits, "-" and ".", at most
// 63, beginning and ending with a letter or digit; and no name of a directory inside a node.
[[nodiscard]] base::Result<void> CheckNodeName(std::string_view name);

}  // namespace partita::sim::load
