#include "service/ledger/state.h"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

#include "base/result.h"

namespace partita::service::ledger {
namespace {

// One line a kind: its word, its key and its table.
std::string Name(const Era&) { return "era/"; }
std::string Name(const SeenGpu& seen) { return "gpu/" + seen.gpu.uuid.value(); }
std::string Name(const SeenInstance& seen) {
  return "instance/" + KeyOf(model::InstanceKey{seen.gpu.uuid, seen.profile, seen.memory.start});
}
std::string Name(const SeenVfio& seen) { return "vfio/" + seen.device.pci.ToString(); }
std::string Name(const Offer& offer) { return "offer/" + offer.board.value(); }
std::string Name(const Hold& hold) { return "hold/" + KeyOf(hold.device); }
std::string Name(const Claim& claim) { return "claim/" + claim.owner.uid; }
std::string Name(const Plan& plan) { return "plan/" + plan.id; }

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
  return std::visit([](const auto& one) { return Name(one); }, entry);
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

std::vector<Holder> HoldersOf(const State& state) {
  std::vector<Holder> holders;
  for (const auto& [key, hold] : state.holds)
    if (!hold.gone) holders.push_back({{hold.device}, hold.owner, !hold.seen});
  for (const auto& [uid, claim] : state.claims) {
    if (claim.step == ClaimStep::kTombstone) continue;
    for (const Use& use : claim.uses)
      holders.push_back({use, claim.owner, claim.step == ClaimStep::kPrepareStarted});
  }
  for (const auto& [id, plan] : state.plans) {
    if (!plan.locked || plan.ended) continue;
    for (const Device& device : plan.scope) holders.push_back({{device}, Operation{id}});
  }
  return holders;
}

DeviceState StateOf(const State& state, const Device& device) {
  bool held = false;
  bool reserved = false;
  for (const Holder& holder : HoldersOf(state)) {
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
          return Overlap({one}, {device}) != Clash::kNone;
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
