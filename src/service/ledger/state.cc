#include "service/ledger/state.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/result.h"

namespace partita::service::ledger {
namespace {

// One line a kind: its word, its key and its table.
std::string EntryName(const Era&) { return "era/"; }
std::string EntryName(const SeenGpu& seen) { return "gpu/" + seen.gpu.uuid.value(); }
std::string EntryName(const SeenInstance& seen) {
  return "instance/" + KeyOf(model::InstanceKey{seen.gpu.uuid, seen.profile, seen.memory.start});
}
std::string EntryName(const SeenVfio& seen) { return "vfio/" + seen.device.pci.ToString(); }
std::string EntryName(const Offer& offer) { return "offer/" + offer.board.value(); }
std::string EntryName(const Hold& hold) { return "hold/" + KeyOf(hold.device); }
std::string EntryName(const Claim& claim) { return "claim/" + claim.owner.uid; }
std::string EntryName(const Plan& plan) { return "plan/" + plan.id; }

template <typename Visit>
void ForEachTable(Visit visit) {
  visit("gpu/", &State::gpus);
  visit("instance/", &State::instances);
  visit("vfio/", &State::vfio);
  visit("offer/", &State::offers);
  visit("hold/", &State::holds);
  visit("claim/", &State::claims);
  visit("plan/", &State::plans);
}

std::string KeyIn(const std::string& name) { return name.substr(name.find('/') + 1); }

void ApplyPut(State& state, const Entry& entry) {
  if (const auto* era = std::get_if<Era>(&entry)) {
    state.era = *era;
    return;
  }
  ForEachTable([&](std::string_view, auto table) {
    using Row = typename std::remove_reference_t<decltype(state.*table)>::mapped_type;
    if (const auto* row = std::get_if<Row>(&entry))
      (state.*table).insert_or_assign(KeyIn(NameOf(entry)), *row);
  });
}

void ApplyErase(State& state, const std::string& name) {
  ForEachTable([&](std::string_view kind, auto table) {
    if (name.starts_with(kind)) (state.*table).erase(KeyIn(name));
  });
}

template <typename Counts>
void AddOthers(const State& state, const Counts& counts, std::vector<Holder>& holders) {
  for (const auto& [uid, claim] : state.claims) {
    if (claim.step == ClaimStep::kTombstone) continue;
    for (const Use& use : claim.uses)
      if (counts(use.device))
        holders.push_back({use, claim.owner, claim.step == ClaimStep::kPrepareStarted});
  }
  for (const auto& [id, plan] : state.plans) {
    if (!plan.locked || plan.ended) continue;
    for (const Device& device : plan.scope)
      if (counts(device)) holders.push_back({{device}, Operation{id}});
  }
}

}  // namespace

std::string_view ToString(Via via) {
  switch (via) {
    case Via::kDevicePlugin: return "device-plugin";
    case Via::kDra: return "dra";
    case Via::kVm: return "vm";
    case Via::kNone: return "none";
  }
  base::CheckFailed("a way of the list", __FILE__, __LINE__);
}

std::string_view ToString(ClaimStep step) {
  switch (step) {
    case ClaimStep::kPrepareStarted: return "PrepareStarted";
    case ClaimStep::kPrepareCompleted: return "PrepareCompleted";
    case ClaimStep::kUnprepareStarted: return "UnprepareStarted";
    case ClaimStep::kTombstone: return "Tombstone";
  }
  base::CheckFailed("a step of the list", __FILE__, __LINE__);
}

std::string NameOf(const Entry& entry) {
  return std::visit([](const auto& one) { return EntryName(one); }, entry);
}

void Apply(State& state, const Change& change) {
  if (const auto* put = std::get_if<Put>(&change)) {
    ApplyPut(state, put->entry);
  } else {
    ApplyErase(state, std::get<Erase>(change).name);
  }
}

std::vector<Entry> AllEntries(const State& state) {
  std::vector<Entry> entries = {state.era};
  ForEachTable([&](std::string_view, auto table) {
    for (const auto& [key, row] : state.*table) entries.emplace_back(row);
  });
  return entries;
}

Holder HolderOf(const Hold& hold) { return {{hold.device}, hold.owner, !hold.seen}; }

std::vector<Holder> HoldersOf(const State& state) {
  std::vector<Holder> holders;
  for (const auto& [key, hold] : state.holds)
    if (!hold.gone) holders.push_back(HolderOf(hold));
  AddOthers(
      state, [](const Device&) { return true; }, holders);
  return holders;
}

// A key begins with its GPU's UUID, so that holds on one board stand together in their table. Those
// of vfio GPUs, which may meet any board, are addresses: they begin with a digit in hexadecimal.
std::vector<const Hold*> HoldsNear(const State& state, const Device& device) {
  std::vector<const Hold*> near;
  const bool anywhere = std::holds_alternative<VfioDevice>(device);
  const auto add = [&](const Hold& hold, bool vfio) {
    const bool wanted = anywhere || std::holds_alternative<VfioDevice>(hold.device) == vfio;
    if (wanted && !hold.gone && MayMeet(device, hold.device)) near.push_back(&hold);
  };
  if (anywhere) {
    for (const auto& [key, hold] : state.holds) add(hold, true);
    return near;
  }
  const Board board = BoardOf(device);
  for (auto each = state.holds.lower_bound(board.value());
       each != state.holds.end() && each->first.starts_with(board.value()); ++each)
    add(each->second, false);
  for (const auto& [first, behind] : {std::pair("0", ":"), std::pair("a", "g")}) {
    const auto end = state.holds.lower_bound(behind);
    for (auto each = state.holds.lower_bound(first); each != end; ++each) add(each->second, true);
  }
  return near;
}

std::vector<Holder> OthersNear(const State& state, const Device& device) {
  std::vector<Holder> holders;
  AddOthers(
      state, [&](const Device& other) { return MayMeet(device, other); }, holders);
  return holders;
}

std::vector<Holder> HoldersNear(const State& state, const Device& device) {
  std::vector<Holder> holders;
  for (const Hold* hold : HoldsNear(state, device)) holders.push_back(HolderOf(*hold));
  for (Holder& other : OthersNear(state, device)) holders.push_back(std::move(other));
  return holders;
}

DeviceState StateOf(const State& state, const Device& device) {
  bool held = false;
  bool reserved = false;
  for (const Holder& holder : HoldersNear(state, device)) {
    if (holder.use.admin || Overlap({device}, holder.use) == Clash::kNone) continue;
    if (std::holds_alternative<Operation>(holder.owner)) return DeviceState::kLocked;
    (holder.reserved ? reserved : held) = true;
  }
  const auto offer = state.offers.find(BoardOf(device).value());
  const bool moving = offer != state.offers.end() && offer->second.next.has_value();
  if (moving || !PlansOver(state, device).empty()) return DeviceState::kClosing;
  if (held) return DeviceState::kHeld;
  return reserved ? DeviceState::kReserved : DeviceState::kFree;
}

std::vector<const Plan*> PlansOver(const State& state, const Device& device) {
  std::vector<const Plan*> plans;
  for (const auto& [id, plan] : state.plans) {
    if (!plan.ended && std::any_of(plan.scope.begin(), plan.scope.end(), [&](const Device& one) {
          return Between(one, device) != Clash::kNone;
        }))
      plans.push_back(&plan);
  }
  return plans;
}

const SeenCompute* FindSeen(const State& state, const MigDevice& device) {
  const auto instance = state.instances.find(KeyOf(device.instance()));
  if (instance == state.instances.end()) return nullptr;
  const std::vector<SeenCompute>& all = instance->second.compute;
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const SeenCompute& one) { return one.place == device.compute; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace partita::service::ledger
