// What tests of the inventory look at together.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "hw/inventory_reader.h"
#include "model/inventory.h"

namespace partita::integration {

inline std::string Problems(const model::Inventory& inventory) {
  std::string text;
  for (const model::Problem& problem : inventory.problems) {
    text += problem.gpu + ": " + problem.error.ToString() + "\n";
  }
  for (const model::Gpu& gpu : inventory.gpus) {
    for (const model::Fault& fault : gpu.faults)
      text += gpu.pci.ToString() + ": " + fault.text + "\n";
  }
  return text;
}

// Far above what it takes: only for what never comes.
inline constexpr std::chrono::seconds kPatience(60);

// Looks until the inventory is as awaited; what it was at the last look.
inline model::Inventory ReadUntil(hw::InventoryReader& reader,
                                  const std::string& awaited,
                                  const std::function<bool(const model::Inventory&)>& come) {
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    model::Inventory inventory = reader.Read();
    if (come(inventory)) return inventory;
    if (std::chrono::steady_clock::now() > limit) {
      ADD_FAILURE() << "in vain awaited: " << awaited << "; there is: " << Problems(inventory);
      return inventory;
    }
  }
}

}  // namespace partita::integration
