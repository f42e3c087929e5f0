#include "service/ledger/decision.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace partita::service::ledger {
namespace {

std::string_view WhatToDo(const Owner& owner) {
  if (std::holds_alternative<Operation>(owner)) return "wait until the operation has ended";
  if (std::holds_alternative<ClaimName>(owner)) return "delete the pods that use the claim";
  if (std::holds_alternative<Vm>(owner)) return "stop the virtual machine";
  return "delete the pod that holds it, or wait until it ends";
}

}  // namespace

base::Error Refuse(const Device& device, const Owner& who, const Holder& holder, Clash clash) {
  return base::MakeError(base::ErrorCode::kBusy, "{} cannot be given to {}: {} holds {} ({})",
                         ToString(device), ToString(who), ToString(holder.owner),
                         ToString(holder.use.device), ToString(clash))
      .WithHint(std::string(WhatToDo(holder.owner)));
}

void CancelPlans(const State& state, const Device& device, Decision& decision) {
  for (const Plan* standing : PlansOver(state, device)) {
    if (standing->locked) continue;
    // An earlier device of the same decision may have taken something out of it already.
    Plan plan = *standing;
    for (const Change& change : decision.changes) {
      const auto* put = std::get_if<Put>(&change);
      const auto* earlier = put == nullptr ? nullptr : std::get_if<Plan>(&put->entry);
      if (earlier != nullptr && earlier->id == plan.id) plan = *earlier;
    }
    const auto left = std::stable_partition(
        plan.scope.begin(), plan.scope.end(),
        [&](const Device& one) { return Between(one, device) == Clash::kNone; });
    if (left == plan.scope.end()) continue;
    for (auto gone = left; gone != plan.scope.end(); ++gone)
      decision.receipt.cancelled.push_back({plan.id, *gone});
    plan.scope.erase(left, plan.scope.end());
    decision.changes.emplace_back(Put{plan});
  }
}

}  // namespace partita::service::ledger
