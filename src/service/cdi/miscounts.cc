#include "service/cdi/miscounts.h"

#include <algorithm>

#include "service/cdi/selection.h"

namespace partita::service::cdi {

namespace {

using base::Error;
using base::Result;
using partita::cdi::ContainerEdits;
using partita::cdi::Miscount;

// Of the first that the library does not list: those behind it are counted without it.
std::optional<Error> WhySlicesMove(const model::Gpu& gpu,
                                   const DeviceFiles& devices,
                                   const Places& places,
                                   const HookSet& hooks) {
  if (!gpu.mig || !gpu.mig->enabled) return std::nullopt;
  for (const model::GpuInstance& instance : gpu.mig->instances) {
    for (const model::ComputeInstance& compute : instance.compute_instances) {
      if (compute.slot) continue;
      const Result<ContainerEdits> edits = MigEdits(gpu, instance, compute, devices, places, hooks);
      if (!edits.ok()) return edits.error();
      return base::MakeError(
          base::ErrorCode::kUnavailable,
          "the driver does not list a MIG device of {}, though its nodes are there", Called(gpu));
    }
  }
  return std::nullopt;
}

// The library counts in the order of the bus: the number that it would have is its successor's.
std::uint32_t FirstMoved(const model::Gpu& unlisted, const model::Inventory& inventory) {
  std::uint32_t behind = 0;
  std::optional<std::uint32_t> first;
  for (const model::Gpu& gpu : inventory.gpus) {
    if (!gpu.index) continue;
    behind = std::max(behind, gpu.index->value() + 1);
    if (gpu.pci < unlisted.pci) continue;
    first = std::min(first.value_or(gpu.index->value()), gpu.index->value());
  }
  return first.value_or(behind);
}

}  // namespace

std::optional<Error> WhyUnlisted(const model::Gpu& gpu,
                                 const DeviceFiles& devices,
                                 const Places& places,
                                 const HookSet& hooks) {
  if (!gpu.minor || devices.excluded.contains(gpu.pci)) return std::nullopt;
  const Result<ContainerEdits> edits = GpuEdits(gpu, devices, places, hooks);
  if (!edits.ok()) return edits.error();
  return base::MakeError(base::ErrorCode::kUnavailable,
                         "the driver does not list {}, though its node is there", Called(gpu))
      .WithHint("see the kernel log, and whether this process may open its node");
}

std::vector<Miscount> MiscountsOf(const model::Inventory& inventory,
                                  const DeviceFiles& devices,
                                  const Places& places,
                                  const HookSet& hooks) {
  std::vector<Miscount> miscounts;
  for (const model::Gpu* gpu : SelectAll(inventory).unlisted) {
    if (const std::optional<Error> why = WhyUnlisted(*gpu, devices, places, hooks))
      miscounts.push_back(
          {std::nullopt, FirstMoved(*gpu, inventory), why->ToString(), why->hint()});
  }
  for (const model::Gpu& gpu : inventory.gpus) {
    if (!gpu.index) continue;
    if (const std::optional<Error> why = WhySlicesMove(gpu, devices, places, hooks))
      miscounts.push_back({gpu.index->value(), 0, why->ToString(), why->hint()});
  }
  return miscounts;
}

}  // namespace partita::service::cdi
