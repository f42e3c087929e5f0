#include "service/ledger/gate.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "model/holder.h"
#include "model/unread.h"

namespace partita::service::ledger {
namespace {

bool DevicesMeet(const Device& a, const Device& b) { return Overlap({a}, {b}) != Clash::kNone; }

const model::Gpu* FindGpu(const model::Inventory& inventory, const Board& board) {
  const auto found = std::find_if(
      inventory.gpus.begin(), inventory.gpus.end(),
      [&](const model::Gpu& gpu) { return gpu.uuid && gpu.uuid->value() == board.value(); });
  return found == inventory.gpus.end() ? nullptr : &*found;
}

Device PlaceOf(const model::Gpu& gpu, const model::GpuInstance& instance) {
  return WholeInstance({*gpu.uuid, gpu.pci}, instance.profile, instance.placement);
}

// Where a process or a hidden holder is: in its GPU instance, or anywhere on the GPU.
Device PlaceOf(const model::Gpu& gpu, const std::optional<model::GpuInstanceId>& id) {
  if (id && gpu.mig)
    for (const model::GpuInstance& instance : gpu.mig->instances)
      if (instance.id == *id) return PlaceOf(gpu, instance);
  return WholeGpu{*gpu.uuid, gpu.pci};
}

void AddHolders(const State& state,
                const Device& device,
                const std::string& plan,
                std::vector<Blocker>& blockers) {
  for (const Holder& holder : HoldersOf(state)) {
    if (!DevicesMeet(device, holder.use.device) || holder.owner == Owner(Operation{plan})) continue;
    blockers.push_back({BlockerKind::kHolder, holder.use.device, ToString(holder.owner), {}});
  }
  for (const auto& [key, seen] : state.instances) {
    const Device place = WholeInstance(seen.gpu, seen.profile, seen.memory);
    if (seen.foreign && DevicesMeet(device, place))
      blockers.push_back({BlockerKind::kForeignInstance,
                          place,
                          fmt::format("GPU instance {}, which is not of our making", seen.id),
                          {},
                          "destroy it, or add it to the node's layout"});
  }
}

void AddUsers(const model::Gpu& gpu, const Device& device, std::vector<Blocker>& blockers) {
  for (const model::Process& process : gpu.processes) {
    const Device place = PlaceOf(gpu, process.gpu_instance);
    if (DevicesMeet(device, place))
      blockers.push_back({BlockerKind::kProcess, place, model::HolderText(process), process.pid});
  }
  for (const model::HiddenHolder& hidden : gpu.hidden_holders) {
    const Device place = PlaceOf(gpu, hidden.gpu_instance);
    if (DevicesMeet(device, place))
      blockers.push_back(
          {BlockerKind::kHidden, place, model::HolderText(hidden), {}, model::kHiddenHolderHint});
  }
  if (const auto why = model::WhyHoldersUnknown(gpu))
    blockers.push_back({BlockerKind::kUnknown, device, why->ToString(), {}, why->hint()});
}

// While MIG is off nothing smaller is there by which a holder could be named.
void AddWholeHolders(const model::Gpu& gpu,
                     const std::vector<Holder>& holders,
                     model::PinnedParts& pinned) {
  for (const Holder& holder : holders) {
    const Device& held = holder.use.device;
    if (std::holds_alternative<Operation>(holder.owner) ||
        (MigPart(held) != nullptr && gpu.mig->enabled) ||
        !DevicesMeet(WholeGpu{*gpu.uuid, gpu.pci}, held))
      continue;
    model::PinnedGpu whole{*gpu.uuid, ToString(holder.owner)};
    // A pod may have several shares.
    if (std::find(pinned.gpus.begin(), pinned.gpus.end(), whole) == pinned.gpus.end())
      pinned.gpus.push_back(std::move(whole));
  }
}

}  // namespace

std::vector<Blocker> WhoBlocks(const State& state,
                               const model::Inventory& inventory,
                               const Device& device,
                               const std::string& plan) {
  std::vector<Blocker> blockers;
  AddHolders(state, device, plan, blockers);
  // Of a GPU under vfio the ledger is the only one who knows.
  if (std::holds_alternative<VfioDevice>(device)) return blockers;
  const model::Gpu* gpu = FindGpu(inventory, BoardOf(device));
  if (gpu == nullptr) {
    blockers.push_back({BlockerKind::kUnknown,
                        device,
                        fmt::format("{} is not there to be asked who uses it", ToString(device)),
                        {}});
  } else {
    AddUsers(*gpu, device, blockers);
  }
  return blockers;
}

model::PinnedParts Pinned(const State& state, const model::Inventory& inventory) {
  const std::vector<Holder> holders = HoldersOf(state);
  model::PinnedParts pinned;
  for (const model::Gpu& gpu : inventory.gpus) {
    if (!gpu.uuid || !gpu.mig) continue;
    AddWholeHolders(gpu, holders, pinned);
    for (const model::GpuInstance& instance : gpu.mig->instances) {
      const Device place = PlaceOf(gpu, instance);
      // An operation is the one that plans.
      const auto held = std::find_if(holders.begin(), holders.end(), [&](const Holder& holder) {
        return !std::holds_alternative<Operation>(holder.owner) &&
               DevicesMeet(place, holder.use.device);
      });
      if (held == holders.end()) continue;
      pinned.instances.emplace(
          model::InstanceKey{*gpu.uuid, instance.profile, instance.placement.start},
          ToString(held->owner));
    }
  }
  return pinned;
}

}  // namespace partita::service::ledger
