#include "service/ledger/holds.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "service/ledger/offers.h"

namespace partita::service::ledger {
namespace {

// The way that an owner comes by.
Via PathOf(const Owner& owner) {
  return std::holds_alternative<Vm>(owner) ? Via::kVm : Via::kDevicePlugin;
}

// kubelet counts each resource's devices by themselves: what it offers under one name it may have
// given away under another.
bool SamePath(const Owner& a, const Owner& b) {
  const auto* pod_a = std::get_if<Pod>(&a);
  const auto* pod_b = std::get_if<Pod>(&b);
  if (pod_a != nullptr && pod_b != nullptr) return pod_a->resource == pod_b->resource;
  return a.index() == b.index();
}

// Of virtual machines the group counts only between machines, and before they are seen they have no
// names to tell them apart.
bool OneMachine(const Owner& owner, const Owner& holder) {
  return std::holds_alternative<Vm>(owner) && holder == owner && !std::get<Vm>(owner).name.empty();
}

// Fails where `device` meets somebody else's atoms. A hold of the same device by the same path is
// nobody else's: it is the one that gets replaced.
base::Result<void> CheckFree(const State& state, const Device& device, const Owner& owner) {
  for (const Hold* hold : HoldsNear(state, device)) {
    const Clash clash = Between(device, hold->device, OneMachine(owner, hold->owner));
    if (clash == Clash::kNone) continue;
    const bool same = SamePath(owner, hold->owner) && KeyOf(device) == KeyOf(hold->device);
    if (!same) return Refuse(device, owner, HolderOf(*hold), clash);
  }
  for (const Holder& holder : OthersNear(state, device)) {
    const Clash clash = Overlap({device}, holder.use);
    if (clash != Clash::kNone) return Refuse(device, owner, holder, clash);
  }
  return {};
}

base::Result<void> CheckDevicesApart(const std::vector<Device>& devices, const Owner& owner) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Clash clash = Between(devices[i], devices[j], true);
      if (clash == Clash::kNone && KeyOf(devices[i]) != KeyOf(devices[j])) continue;
      return Refuse(devices[i], owner, {{devices[j]}, owner, true},
                    clash == Clash::kNone ? Clash::kSameGpu : clash);
    }
  }
  return {};
}

}  // namespace

Device Completed(const State& state, Device device) {
  const auto slot = [&](WholeGpu& gpu) {
    const auto seen = state.gpus.find(gpu.uuid.value());
    if (seen != state.gpus.end()) gpu.slot = seen->second.gpu.slot;
  };
  if (MigDevice* mig = MigPart(device)) {
    slot(mig->gpu);
    const SeenCompute* seen = FindSeen(state, *mig);
    if (seen != nullptr && seen->uuid == mig->uuid) mig->incarnation = seen->incarnation;
  } else if (auto* gpu = std::get_if<WholeGpu>(&device)) {
    slot(*gpu);
  } else if (auto* share = std::get_if<Share>(&device)) {
    slot(std::get<WholeGpu>(share->of));
  } else {
    auto& vfio = std::get<VfioDevice>(device);
    const auto seen = state.vfio.find(vfio.pci.ToString());
    if (seen != state.vfio.end()) vfio = seen->second.device;
  }
  return device;
}

base::Result<void> CheckKnown(const State& state, const Device& device) {
  bool known = false;
  if (const MigDevice* mig = MigPart(device)) {
    const SeenCompute* seen = FindSeen(state, *mig);
    known = seen != nullptr && seen->uuid == mig->uuid;
  } else if (const auto* vfio = std::get_if<VfioDevice>(&device)) {
    known = state.vfio.contains(vfio->pci.ToString());
  } else {
    known = state.gpus.contains(BoardOf(device).value());
  }
  if (known) return {};
  return base::MakeError(base::ErrorCode::kNotFound, "there is no {} on this node",
                         ToString(device))
      .WithHint("it was there when the list was read, and is not any more; ask again");
}

base::Result<Decision> Reserve(const State& state, const Reservation& wanted, Time now) {
  Decision decision;
  std::vector<Device> devices;
  for (const Device& device : wanted.devices) {
    TRY_VOID(CheckKnown(state, device));
    devices.push_back(Completed(state, device));
    TRY_VOID(CheckOffered(state, devices.back(), PathOf(wanted.owner)));
    TRY_VOID(CheckFree(state, devices.back(), wanted.owner));
  }
  TRY_VOID(CheckDevicesApart(devices, wanted.owner));
  for (const Device& device : devices) {
    const auto old = state.holds.find(KeyOf(device));
    if (old != state.holds.end()) decision.receipt.replaced.push_back(old->second);
    CancelPlans(state, device, decision);
    decision.changes.emplace_back(Put{Hold{device, wanted.owner, false, now}});
  }
  return decision;
}

base::Result<Decision> Bind(const State& state, const Device& named, const Owner& owner, Time now) {
  Decision decision;
  const Device device = Completed(state, named);
  const auto found = state.holds.find(KeyOf(device));
  if (found != state.holds.end() && found->second.owner == owner && found->second.seen)
    return decision;
  // What was destroyed under its pod has no atoms that anybody could be in the way of.
  const bool gone = MigPart(device) != nullptr && !CheckKnown(state, device).ok();
  if (!gone) TRY_VOID(CheckFree(state, device, owner));
  Hold hold{device, owner, true, now, gone};
  if (found != state.holds.end()) hold.since = found->second.since;
  decision.changes.emplace_back(Put{std::move(hold)});
  return decision;
}

Decision Release(const State& state, const Device& device, const Owner& owner) {
  Decision decision;
  const auto found = state.holds.find(KeyOf(device));
  if (found == state.holds.end() || found->second.owner != owner) return decision;
  decision.changes.emplace_back(Erase{NameOf(found->second)});
  return decision;
}

}  // namespace partita::service::ledger
