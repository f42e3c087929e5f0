// Which GPU is meant, for longer than one look at a node: positions and indexes are of one look.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "model/ids.h"
#include "model/inventory.h"

namespace partita::model {

struct GpuIdentity {
  std::optional<GpuUuid> uuid;
  PciAddress pci;                 // all zero: unknown
  std::optional<GpuIndex> index;  // for people, and where nothing else tells GPUs apart

  [[nodiscard]] static GpuIdentity Of(const Gpu& gpu);

  // By UUID; by address where one of them tells none, as a GPU that stopped answering.
  [[nodiscard]] bool Is(const GpuIdentity& other) const;
  [[nodiscard]] bool Is(const Gpu& gpu) const { return Is(Of(gpu)); }

  // "GPU 3", or its PCI address where it has no index.
  [[nodiscard]] std::string Name() const;

  bool operator==(const GpuIdentity& other) const;
};

// Where it is in Inventory::gpus of this look; nothing when it is gone.
[[nodiscard]] std::optional<std::size_t> FindPosition(const Inventory& inventory,
                                                      const GpuIdentity& gpu);
// The GPU itself, inside `inventory`; null when it is gone.
[[nodiscard]] const Gpu* FindGpu(const Inventory& inventory, const GpuIdentity& gpu);
[[nodiscard]] Gpu* FindGpu(Inventory& inventory, const GpuIdentity& gpu);

}  // namespace partita::model
