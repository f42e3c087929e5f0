#include "service/ledger/sightings.h"

#include <algorithm>
#include <map>
#include <utility>

#include "model/unread.h"
#include "service/ledger/holds.h"

namespace partita::service::ledger {
namespace {

// Collects changes and applies each to a copy of the state, so that later steps see earlier ones.
class Look {
 public:
  Look(const State& state, const Asked& asked, bool new_boot)
      : state_(state), asked_(asked), new_boot_(new_boot) {}

  void See(const model::Gpu& gpu) {
    if (!gpu.uuid) return;
    const SeenGpu seen{{*gpu.uuid, gpu.pci == model::PciAddress() ? SlotBefore(*gpu.uuid)
                                                                  : std::optional(gpu.pci)}};
    PutIfNew(state_.gpus, gpu.uuid->value(), seen);
    if (model::WhyMigUnknown(gpu)) return;
    std::set<std::string> there;
    if (gpu.mig)
      for (const model::GpuInstance& instance : gpu.mig->instances)
        there.insert(See(seen.gpu, instance));
    const std::map<std::string, SeenInstance> before = state_.instances;
    for (const auto& [key, instance] : before)
      if (instance.gpu.uuid == *gpu.uuid && !there.contains(key)) Do(Erase{NameOf(instance)});
    readable_.insert(gpu.uuid->value());
  }

  void See(const std::vector<model::VfioGpu>& vfio) {
    std::set<std::string> there;
    for (const model::VfioGpu& gpu : vfio) {
      VfioDevice device{gpu.pci, std::nullopt, gpu.iommu_group};
      for (const auto& [uuid, seen] : state_.gpus)
        if (seen.gpu.slot == gpu.pci) device.remembered = seen.gpu.uuid;
      PutIfNew(state_.vfio, gpu.pci.ToString(), SeenVfio{device});
      there.insert(gpu.pci.ToString());
    }
    const std::map<std::string, SeenVfio> before = state_.vfio;
    for (const auto& [address, seen] : before)
      if (!there.contains(address)) Do(Erase{NameOf(seen)});
  }

  // First what went: its atoms may be those of what came back.
  void CompareHolds() {
    const auto there = [&](const Hold& hold) { return CheckKnown(state_, hold.device).ok(); };
    for (Hold& hold : HoldsOfReadableMig()) {
      hold.gone = hold.gone || !there(hold);
      PutIfNew(state_.holds, KeyOf(hold.device), hold);
    }
    for (Hold& hold : HoldsOfReadableMig()) {
      hold.gone = hold.gone && (!there(hold) || IsTaken(hold.device));
      PutIfNew(state_.holds, KeyOf(hold.device), hold);
    }
  }

  Decision Done() && {
    if (state_.era.next != next_before_) decision_.changes.emplace_back(Put{state_.era});
    return std::move(decision_);
  }

 private:
  std::optional<model::PciAddress> SlotBefore(const model::GpuUuid& uuid) const {
    const auto seen = state_.gpus.find(uuid.value());
    return seen == state_.gpus.end() ? std::nullopt : seen->second.gpu.slot;
  }

  [[nodiscard]] std::vector<Hold> HoldsOfReadableMig() const {
    std::vector<Hold> holds;
    for (const auto& [key, hold] : state_.holds) {
      const MigDevice* mig = MigPart(hold.device);
      if (mig == nullptr || !readable_.contains(mig->gpu.uuid.value())) continue;
      holds.push_back(hold);
      holds.back().device = Completed(state_, hold.device);
    }
    return holds;
  }

  std::string See(const WholeGpu& gpu, const model::GpuInstance& instance) {
    SeenInstance seen{gpu, instance.profile, instance.placement, instance.id, false, {}};
    std::string key =
        KeyOf(model::InstanceKey{gpu.uuid, instance.profile, instance.placement.start});
    const auto found = state_.instances.find(key);
    const bool same =
        found != state_.instances.end() && found->second.id == instance.id && !new_boot_;
    for (const model::ComputeInstance& compute : instance.compute_instances) {
      SeenCompute now{compute.placement, compute.id, compute.uuid, {}};
      const SeenCompute* before = nullptr;
      if (same) before = FindSeen(state_, {gpu, seen.profile, seen.memory, now.place});
      const bool stayed = before != nullptr && before->id == now.id && before->uuid == now.uuid;
      now.incarnation = stayed ? before->incarnation : Incarnation(state_.era.next++);
      seen.compute.push_back(std::move(now));
    }
    seen.foreign = IsForeign(seen, found == state_.instances.end() ? nullptr : &found->second);
    PutIfNew(state_.instances, key, seen);
    return key;
  }

  [[nodiscard]] bool IsForeign(const SeenInstance& seen, const SeenInstance* before) const {
    const bool wanted =
        !asked_ || asked_->contains({seen.gpu.uuid, seen.profile, seen.memory.start});
    if (wanted) return false;
    if (before != nullptr && before->id == seen.id && !new_boot_) return before->foreign;
    const Device device = WholeInstance(seen.gpu, seen.profile, seen.memory);
    return !IsTaken(device);
  }

  [[nodiscard]] bool IsTaken(const Device& device) const {
    const std::vector<Holder> holders = HoldersOf(state_);
    return std::any_of(holders.begin(), holders.end(), [&](const Holder& holder) {
      return Overlap({device}, holder.use) != Clash::kNone;
    });
  }

  template <typename Table, typename Row>
  void PutIfNew(const Table& table, const std::string& key, const Row& row) {
    const auto found = table.find(key);
    if (found == table.end() || found->second != row) Do(Put{row});
  }

  void Do(Change change) {
    Apply(state_, change);
    decision_.changes.push_back(std::move(change));
  }

  State state_;
  const Asked& asked_;
  bool new_boot_;
  std::uint64_t next_before_ = state_.era.next;
  std::set<std::string> readable_;
  Decision decision_;
};

}  // namespace

Decision Observe(const State& state,
                 const model::Inventory& inventory,
                 const Asked& asked,
                 bool new_boot) {
  Look look(state, asked, new_boot);
  for (const model::Gpu& gpu : inventory.gpus) look.See(gpu);
  look.See(inventory.vfio);
  look.CompareHolds();
  return std::move(look).Done();
}

std::vector<MigDevice> OwnMigDevices(const State& state) {
  std::vector<MigDevice> devices;
  for (const auto& [key, seen] : state.instances) {
    if (seen.foreign) continue;
    for (const SeenCompute& compute : seen.compute)
      devices.push_back(
          {seen.gpu, seen.profile, seen.memory, compute.place, compute.uuid, compute.incarnation});
  }
  return devices;
}

}  // namespace partita::service::ledger
