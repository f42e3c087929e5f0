#include "service/ledger/plans.h"

#include <algorithm>

#include <fmt/format.h>

#include "service/ledger/claims.h"
#include "service/ledger/holds.h"
#include "service/ledger/offers.h"

namespace partita::service::ledger {
namespace {

Device AllOfInstance(const SeenInstance& seen) {
  return WholeInstance(seen.gpu, seen.profile, seen.memory);
}

base::Error NoSuchPlan(const std::string& plan) {
  return base::MakeError(base::ErrorCode::kConflict, "nothing is withdrawn for {}",
                         ToString(Owner(Operation{plan})))
      .WithHint("all that it wanted was given to others meanwhile; plan again");
}

// Even those who only look: their handles would keep a reset from happening.
base::Result<void> CheckUnheld(const State& state, const Device& device, const Owner& who) {
  for (const Holder& holder : HoldersOf(state)) {
    const Clash clash = Overlap({device}, {holder.use.device});
    if (clash != Clash::kNone && holder.owner != who) return Refuse(device, who, holder, clash);
  }
  for (const auto& [key, seen] : state.instances) {
    if (!seen.foreign) continue;
    const Clash clash = Overlap({device}, {AllOfInstance(seen)});
    if (clash == Clash::kNone) continue;
    const Foreign foreign{fmt::format("somebody else's GPU instance {}", seen.id)};
    return Refuse(device, who, {{AllOfInstance(seen)}, foreign}, clash);
  }
  return {};
}

// What lies in the scope is as if never seen; devices beside it in the same instance stay.
void Forget(const SeenInstance& seen, const std::vector<Device>& scope, Decision& decision) {
  const auto within = [&](const Device& device) {
    return std::any_of(scope.begin(), scope.end(),
                       [&](const Device& one) { return Overlap({one}, {device}) != Clash::kNone; });
  };
  if (!within(AllOfInstance(seen))) return;
  SeenInstance left = seen;
  std::erase_if(left.compute, [&](const SeenCompute& compute) {
    return within(MigDevice{seen.gpu, seen.profile, seen.memory, compute.place});
  });
  if (left.compute.empty()) {
    decision.changes.emplace_back(Erase{NameOf(seen)});
  } else if (left != seen) {
    decision.changes.emplace_back(Put{std::move(left)});
  }
}

}  // namespace

base::Result<Decision> Withdraw(const State& state,
                                const std::string& plan,
                                const std::vector<Device>& scope,
                                Time now) {
  Decision decision;
  decision.durable = true;
  const Owner who = Operation{plan};
  const auto found = state.plans.find(plan);
  if (found != state.plans.end() && !found->second.ended) {
    return base::MakeError(base::ErrorCode::kConflict, "{} has withdrawn its devices already",
                           ToString(who));
  }
  Plan entry{plan, {}, false, false, now};
  for (const Device& device : scope) {
    for (const Plan* other : PlansOver(state, device)) {
      for (const Device& theirs : other->scope) {
        const Clash clash = Overlap({device}, {theirs});
        if (clash != Clash::kNone)
          return Refuse(device, who, {{theirs}, Operation{other->id}}, clash);
      }
    }
    entry.scope.push_back(Completed(state, device));
  }
  decision.changes.emplace_back(Put{std::move(entry)});
  return decision;
}

base::Result<Decision> Lock(const State& state, const std::string& plan) {
  const auto found = state.plans.find(plan);
  if (found == state.plans.end() || found->second.ended || found->second.scope.empty())
    return NoSuchPlan(plan);
  for (const Device& device : found->second.scope)
    TRY_VOID(CheckUnheld(state, device, Operation{plan}));
  Decision decision;
  decision.durable = true;
  decision.receipt.locked = found->second.scope;
  Plan entry = found->second;
  entry.locked = true;
  decision.changes.emplace_back(Put{std::move(entry)});
  return decision;
}

Decision EndPlan(const State& state, const std::string& plan) {
  Decision decision;
  decision.durable = true;
  const auto found = state.plans.find(plan);
  if (found == state.plans.end() || found->second.ended) return decision;
  Plan entry = found->second;
  // A driver may have given the same ids and UUIDs again: no look could tell the difference.
  if (entry.locked)
    for (const auto& [key, seen] : state.instances) Forget(seen, entry.scope, decision);
  entry.locked = false;
  entry.ended = true;
  decision.changes.emplace_back(Put{std::move(entry)});
  return decision;
}

Decision Sweep(const State& state, Time now) {
  Decision decision;
  for (const auto& [uid, claim] : state.claims)
    if (claim.step == ClaimStep::kTombstone && now >= claim.since + kTombstoneKept)
      decision.changes.emplace_back(Erase{NameOf(claim)});
  for (const auto& [id, plan] : state.plans)
    if (plan.ended && now >= plan.withdrawn + kListedAfterWithdrawal)
      decision.changes.emplace_back(Erase{NameOf(plan)});
  return decision;
}

}  // namespace partita::service::ledger
