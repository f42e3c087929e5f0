#include "service/ledger/offers.h"

#include <algorithm>

#include <fmt/format.h>

namespace partita::service::ledger {
namespace {

// All of a physical GPU, by whichever name it goes.
Device AllOfBoard(const State& state, const Board& board) {
  const auto gpu = state.gpus.find(board.value());
  if (gpu != state.gpus.end()) return gpu->second.gpu;
  const auto vfio = state.vfio.find(board.value());
  if (vfio != state.vfio.end()) return vfio->second.device;
  return WholeGpu{model::GpuUuid(board.value())};
}

bool AnybodyOn(const State& state, const Board& board) {
  const Device gpu = AllOfBoard(state, board);
  const std::vector<Holder> holders = HoldersOf(state);
  return std::any_of(holders.begin(), holders.end(), [&](const Holder& holder) {
    return !holder.use.admin &&
           (BoardOf(holder.use.device) == board || Overlap({gpu}, holder.use) != Clash::kNone);
  });
}

bool IsThere(const State& state, const Device& device) {
  if (const MigDevice* mig = MigPart(device)) {
    const SeenCompute* seen = FindSeen(state, *mig);
    return seen != nullptr && seen->uuid == mig->uuid &&
           !state.instances.at(KeyOf(mig->instance())).foreign;
  }
  if (const auto* vfio = std::get_if<VfioDevice>(&device))
    return state.vfio.contains(vfio->pci.ToString());
  return state.gpus.contains(BoardOf(device).value());
}

bool IsHeld(const State& state, const Device& device) {
  const auto hold = state.holds.find(KeyOf(device));
  return hold != state.holds.end() && !hold->second.gone;
}

bool WithdrawnLately(const State& state, const Device& device, Time now) {
  const auto lately = [&](Time since) { return now < since + kListedAfterWithdrawal; };
  const auto offer = state.offers.find(BoardOf(device).value());
  if (offer != state.offers.end() && offer->second.withdrawn && lately(*offer->second.withdrawn))
    return true;
  return std::any_of(state.plans.begin(), state.plans.end(), [&](const auto& row) {
    const Plan& plan = row.second;
    return lately(plan.withdrawn) &&
           std::any_of(plan.scope.begin(), plan.scope.end(),
                       [&](const Device& one) { return Between(one, device) != Clash::kNone; });
  });
}

}  // namespace

Via ViaOf(const State& state, const Device& device) {
  const auto offer = state.offers.find(BoardOf(device).value());
  return offer == state.offers.end() ? Via::kDevicePlugin : offer->second.via;
}

base::Result<void> CheckOffered(const State& state, const Device& device, Via via) {
  const Via has = ViaOf(state, device);
  if (has == via) return {};
  return base::MakeError(base::ErrorCode::kConflict, "{} is offered by {}, not by {}",
                         ToString(device), ToString(has), ToString(via))
      .WithHint("change who offers this GPU in offer.rules, or take another device");
}

Decision ChangeOffer(const State& state, const Board& board, Via via, Time now) {
  Decision decision;
  decision.durable = true;
  const auto found = state.offers.find(board.value());
  Offer offer = found == state.offers.end() ? Offer{board} : found->second;
  const Offer before = offer;
  if (offer.via == via) {
    offer.next.reset();
  } else if (offer.next != via) {
    offer.next = via;
    offer.withdrawn = now;
  }
  if (offer != before) decision.changes.emplace_back(Put{offer});
  return decision;
}

Decision PublishOffers(const State& state) {
  Decision decision;
  decision.durable = true;
  for (const auto& [board, offer] : state.offers) {
    if (!offer.next || AnybodyOn(state, offer.board)) continue;
    decision.changes.emplace_back(Put{Offer{offer.board, *offer.next, {}, offer.withdrawn}});
    decision.receipt.published.push_back(offer.board);
  }
  return decision;
}

Listing ListingOf(const State& state, const Device& device, Time now) {
  // Closing or locked, whoever holds it: StateOf would look at all holders for it, and this is
  // asked for every device of the node at once.
  const auto offer = state.offers.find(BoardOf(device).value());
  const bool moving = offer != state.offers.end() && offer->second.next.has_value();
  const bool closed = moving || !PlansOver(state, device).empty();
  const Via via = ViaOf(state, device);
  const bool offered = via == Via::kDevicePlugin || via == Via::kVm;
  if (IsThere(state, device) && offered && !closed) return Listing::kHealthy;
  if (IsHeld(state, device) || WithdrawnLately(state, device, now)) return Listing::kUnhealthy;
  return Listing::kGone;
}

}  // namespace partita::service::ledger
