#include "agent/ledger/kept_guards.h"

#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "agent/boot_id.h"
#include "agent/ledger/plan_scope.h"
#include "service/ledger/gate.h"
#include "service/ledger/journal.h"
#include "service/ledger/verify.h"

namespace partita::agent {
namespace {

namespace ledger = service::ledger;

constexpr const char* kOneKnows =
    "an agent asks kubelet whether that is still so: start it, and try again";

// What is gone since it was written down holds nothing.
ledger::State OnThisMachine(ledger::State state, const model::Inventory& node) {
  const base::Result<std::string> boot = ReadBootId();
  const ledger::Verdict verdict =
      ledger::Verify(state, node, boot.ok() ? *boot : "unknown", std::nullopt);
  for (const ledger::Change& change : verdict.changes) ledger::Apply(state, change);
  return state;
}

base::Result<void> CheckNobodyHolds(const ledger::State& state,
                                    const model::Inventory& node,
                                    const std::vector<service::mig::GpuSteps>& steps) {
  for (const ledger::Device& device : ScopeOf(node, steps)) {
    for (const ledger::Holder& holder : ledger::HoldersOf(state)) {
      // Of a life that is over; whoever plans anew goes on from what is there.
      if (std::holds_alternative<ledger::Operation>(holder.owner)) continue;
      if (ledger::Overlap({device}, {holder.use.device}) == ledger::Clash::kNone) continue;
      return base::Error(base::ErrorCode::kBusy, fmt::format("{} holds {}", ToString(holder.owner),
                                                             ToString(holder.use.device)))
          .WithHint(kOneKnows);
    }
  }
  return {};
}

}  // namespace

base::Result<service::mig::ChangeGuards> KeptGuards(const std::string& state_directory) {
  TRY(kept, ledger::Journal::Read(state_directory), "who holds what cannot be read");
  service::mig::ChangeGuards guards;
  if (!kept) return guards;
  const auto state = std::make_shared<const ledger::State>(std::move(kept->state));
  guards.pinned = [state](const model::Inventory& node) {
    return ledger::Pinned(OnThisMachine(*state, node), node);
  };
  guards.gate = [state](const model::Inventory& node,
                        const std::vector<service::mig::GpuSteps>& steps) {
    return CheckNobodyHolds(OnThisMachine(*state, node), node, steps);
  };
  return guards;
}

}  // namespace partita::agent
