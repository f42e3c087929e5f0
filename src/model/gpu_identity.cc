#include "model/gpu_identity.h"

#include <algorithm>

#include <fmt/format.h>

namespace partita::model {

GpuIdentity GpuIdentity::Of(const Gpu& gpu) { return {gpu.uuid, gpu.pci, gpu.index}; }

bool GpuIdentity::Is(const GpuIdentity& other) const {
  if (uuid && other.uuid) return *uuid == *other.uuid;
  if (pci != PciAddress() && other.pci != PciAddress()) return pci == other.pci;
  return index == other.index;
}

std::string GpuIdentity::Name() const {
  return index ? fmt::format("GPU {}", index->value()) : pci.ToString();
}

bool GpuIdentity::operator==(const GpuIdentity& other) const {
  if (uuid != other.uuid || pci != other.pci) return false;
  // Drivers count anew when a GPU goes.
  return uuid || pci != PciAddress() || index == other.index;
}

std::optional<std::size_t> FindPosition(const Inventory& inventory, const GpuIdentity& gpu) {
  const auto& gpus = inventory.gpus;
  // A driver that gives two GPUs one UUID still tells their addresses.
  auto found = std::find_if(gpus.begin(), gpus.end(),
                            [&](const Gpu& each) { return GpuIdentity::Of(each) == gpu; });
  if (found == gpus.end()) {
    found = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& each) { return gpu.Is(each); });
  }
  if (found == gpus.end()) return std::nullopt;
  return static_cast<std::size_t>(found - gpus.begin());
}

const Gpu* FindGpu(const Inventory& inventory, const GpuIdentity& gpu) {
  const std::optional<std::size_t> position = FindPosition(inventory, gpu);
  return position ? &inventory.gpus[*position] : nullptr;
}

Gpu* FindGpu(Inventory& inventory, const GpuIdentity& gpu) {
  const std::optional<std::size_t> position = FindPosition(inventory, gpu);
  return position ? &inventory.gpus[*position] : nullptr;
}

}  // namespace partita::model
