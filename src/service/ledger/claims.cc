#include "service/ledger/claims.h"

#include <algorithm>
#include <utility>

#include "service/ledger/holds.h"
#include "service/ledger/offers.h"

namespace partita::service::ledger {
namespace {

bool SameUses(const std::vector<Use>& a, const std::vector<Use>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Use& x, const Use& y) {
    return KeyOf(x.device) == KeyOf(y.device) && x.admin == y.admin;
  });
}

bool StillToBeMade(const Device& device) {
  const MigDevice* mig = MigPart(device);
  return mig != nullptr && mig->uuid.value().empty();
}

// A GPU may change its driver for a claim, so either name of the board will do.
bool BoardIsKnown(const State& state, const Device& device) {
  if (state.gpus.contains(BoardOf(device).value())) return true;
  const auto* vfio = std::get_if<VfioDevice>(&device);
  return vfio != nullptr && state.vfio.contains(vfio->pci.ToString());
}

base::Result<void> CheckThere(const State& state, const Device& device) {
  const bool board_only = StillToBeMade(device) || std::holds_alternative<VfioDevice>(device);
  if (board_only && BoardIsKnown(state, device)) return {};
  return CheckKnown(state, device);
}

base::Result<void> CheckUse(const State& state, const Use& use, const ClaimName& owner) {
  TRY_VOID(CheckThere(state, use.device));
  if (use.admin) {
    const bool vfio = std::holds_alternative<VfioDevice>(use.device);
    if (vfio) {
      return base::MakeError(base::ErrorCode::kUnsupported,
                             "{} cannot be given to {} with admin access: {}", ToString(use.device),
                             ToString(Owner(owner)), ToString(Clash::kVfioAdmin))
          .WithHint("ask for another GPU, or without admin access");
    }
  } else {
    TRY_VOID(CheckOffered(state, use.device, Via::kDra));
  }
  for (const Holder& holder : HoldersOf(state)) {
    const Clash clash = Overlap(use, holder.use, holder.owner == Owner(owner));
    if (clash != Clash::kNone) return Refuse(use.device, owner, holder, clash);
  }
  return {};
}

// Within one claim.
base::Result<void> CheckUsesApart(const ClaimRequest& request) {
  for (std::size_t i = 0; i < request.uses.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Use& other = request.uses[j];
      const Clash clash = Overlap(request.uses[i], other, true);
      if (clash != Clash::kNone)
        return Refuse(request.uses[i].device, request.owner, {other, request.owner, true}, clash);
    }
  }
  return {};
}

base::Error Overtaken(const ClaimName& owner) {
  return base::MakeError(base::ErrorCode::kConflict,
                         "this prepare of {} was overtaken by the claim's release",
                         ToString(Owner(owner)))
      .WithHint("nothing is left to do; kubelet asks again if a pod needs it");
}

// What stands against, or instead of, taking a claim that the ledger has met before.
base::Result<Decision> Again(const Claim& claim, const ClaimRequest& request) {
  if (claim.step == ClaimStep::kUnprepareStarted) {
    return base::MakeError(base::ErrorCode::kBusy, "{} is being released",
                           ToString(Owner(claim.owner)))
        .WithHint("ask again when that has ended");
  }
  if (!SameUses(claim.uses, request.uses)) {
    return base::MakeError(base::ErrorCode::kConflict, "{} holds other devices already",
                           ToString(Owner(claim.owner)))
        .WithHint("it must be released before it can be given others");
  }
  Decision decision;
  decision.receipt.attempt = claim.attempt;
  decision.receipt.step = claim.step;
  return decision;
}

}  // namespace

base::Result<Decision> StartClaim(const State& state, const ClaimRequest& request, Time now) {
  const auto found = state.claims.find(request.owner.uid);
  if (found != state.claims.end()) {
    if (found->second.step != ClaimStep::kTombstone) return Again(found->second, request);
    if (request.asked <= found->second.since) return Overtaken(request.owner);
  }
  Decision decision;
  decision.durable = true;
  Claim claim{request.owner, {}, ClaimStep::kPrepareStarted, state.era.next, now};
  for (const Use& wanted : request.uses) {
    const Use use{Completed(state, wanted.device), wanted.admin};
    TRY_VOID(CheckUse(state, use, request.owner));
    if (!use.admin) CancelPlans(state, use.device, decision);
    claim.uses.push_back(use);
  }
  TRY_VOID(CheckUsesApart({request.owner, claim.uses, request.asked}));
  decision.receipt.attempt = claim.attempt;
  decision.receipt.step = claim.step;
  decision.changes.emplace_back(Put{std::move(claim)});
  decision.changes.emplace_back(Put{Era{state.era.boot, state.era.next + 1}});
  return decision;
}

base::Result<Decision> CompleteClaim(const State& state,
                                     const std::string& uid,
                                     std::uint64_t attempt,
                                     const std::vector<Use>& uses,
                                     Time now) {
  const auto found = state.claims.find(uid);
  const bool under_way = found != state.claims.end() && found->second.attempt == attempt &&
                         (found->second.step == ClaimStep::kPrepareStarted ||
                          found->second.step == ClaimStep::kPrepareCompleted);
  if (!under_way)
    return Overtaken(found == state.claims.end() ? ClaimName{uid, "", ""} : found->second.owner);
  Claim claim = found->second;
  if (!SameUses(claim.uses, uses)) {
    return base::MakeError(base::ErrorCode::kInternal,
                           "{} was completed with other devices than it was given",
                           ToString(Owner(claim.owner)));
  }
  Decision decision;
  decision.durable = true;
  claim.uses.clear();
  for (const Use& use : uses) claim.uses.push_back({Completed(state, use.device), use.admin});
  claim.step = ClaimStep::kPrepareCompleted;
  claim.since = now;
  decision.receipt.attempt = attempt;
  decision.receipt.step = claim.step;
  decision.changes.emplace_back(Put{std::move(claim)});
  return decision;
}

Decision StartRelease(const State& state, const std::string& uid, Time now) {
  Decision decision;
  decision.durable = true;
  const auto found = state.claims.find(uid);
  if (found == state.claims.end() || found->second.step == ClaimStep::kTombstone) return decision;
  Claim claim = found->second;
  decision.receipt.attempt = claim.attempt;
  decision.receipt.step = ClaimStep::kUnprepareStarted;
  if (claim.step == ClaimStep::kUnprepareStarted) return decision;
  claim.step = ClaimStep::kUnprepareStarted;
  claim.since = now;
  decision.changes.emplace_back(Put{std::move(claim)});
  return decision;
}

base::Result<Decision> FinishRelease(const State& state, const std::string& uid, Time now) {
  Decision decision;
  decision.durable = true;
  const auto found = state.claims.find(uid);
  if (found == state.claims.end() || found->second.step == ClaimStep::kTombstone) return decision;
  if (found->second.step != ClaimStep::kUnprepareStarted) {
    return base::MakeError(base::ErrorCode::kConflict, "the release of {} has not begun",
                           ToString(Owner(found->second.owner)));
  }
  decision.receipt.step = ClaimStep::kTombstone;
  decision.changes.emplace_back(
      Put{Claim{found->second.owner, {}, ClaimStep::kTombstone, found->second.attempt, now}});
  return decision;
}

}  // namespace partita::service::ledger
