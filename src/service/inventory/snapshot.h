// What this node is, at one moment. Published whole and never changed afterwards: whoever holds one
// may keep it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/inventory.h"

namespace partita::service::inventory {

// Each counts the changes of its part, so that a reader of one need not look at the others.
struct Revisions {
  std::uint64_t identity = 0;  // which GPUs there are, the driver
  std::uint64_t shape = 0;     // modes, MIG instances, device nodes, links, faults
  std::uint64_t readings = 0;
  std::uint64_t holders = 0;
  bool operator==(const Revisions&) const = default;
};

// A GPU that did not answer: what is shown of it is what it last said.
struct Stale {
  std::optional<std::chrono::steady_clock::time_point> since;  // its last good answer
  std::string why;
  bool operator==(const Stale&) const = default;
};

struct Snapshot {
  std::uint64_t revision = 0;
  Revisions revisions;
  std::uint64_t session = 0;  // with the driver; counts from 1, 0 without one
  model::Inventory inventory;
  std::map<model::PciAddress, Stale> stale;
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

// From one snapshot to the next.
struct Changes {
  bool identity = false, shape = false, readings = false, holders = false;
  std::vector<model::PciAddress> appeared = {}, gone = {};
  std::vector<model::PciAddress> changed = {};  // of those that stayed, readings aside
  [[nodiscard]] bool any() const { return identity || shape || readings || holders; }
  bool operator==(const Changes&) const = default;
};
[[nodiscard]] Changes Difference(const model::Inventory& before, const model::Inventory& after);

}  // namespace partita::service::inventory
