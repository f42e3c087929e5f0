#include "service/ledger/verify.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/result.h"
#include "model/unread.h"

namespace partita::service::ledger {
namespace {

class Verification {
 public:
  explicit Verification(const State& state) : state_(state) {}

  void ForgetLastBoot() {
    const State before = state_;
    for (const auto& [uid, claim] : before.claims) {
      if (claim.step != ClaimStep::kTombstone)
        Find(FindingKind::kDrop, uid,
             fmt::format("{} is void since the reboot", ToString(Owner(claim.owner))));
      Do(Erase{NameOf(claim)});
    }
    for (const auto& [id, plan] : before.plans) {
      if (!plan.ended)
        Find(FindingKind::kDrop, id, fmt::format("operation {} is void since the reboot", id));
      Do(Erase{NameOf(plan)});
    }
  }

  void ResumeSteps() {
    const State before = state_;
    for (const auto& [uid, claim] : before.claims) {
      const std::string who = ToString(Owner(claim.owner));
      if (claim.step == ClaimStep::kPrepareStarted)
        RollBack(claim, fmt::format("{} was being prepared", who));
      if (claim.step == ClaimStep::kUnprepareStarted)
        Find(FindingKind::kFinish, uid, fmt::format("{} was being released", who));
    }
    for (const auto& [id, plan] : before.plans) {
      if (plan.ended) continue;
      if (plan.locked) {
        Find(FindingKind::kInterrupted, id, fmt::format("operation {} was under way", id));
      } else {
        Find(FindingKind::kDrop, id, fmt::format("operation {} had not begun", id));
        Do(Erase{NameOf(plan)});
      }
    }
  }

  void Look(const model::Inventory& inventory, const Asked& asked, bool new_boot) {
    const State before = state_;
    for (Change& change : Observe(state_, inventory, asked, new_boot).changes)
      Do(std::move(change));
    for (const auto& [key, seen] : state_.instances)
      if (seen.foreign)
        Find(FindingKind::kForeign, key,
             fmt::format("GPU instance {} of {} (profile {} at slice {}) is not of our making",
                         seen.id, seen.gpu.uuid, seen.profile, seen.memory.start));
    for (const auto& [key, hold] : state_.holds)
      if (hold.gone && !before.holds.at(key).gone)
        Find(FindingKind::kGone, key,
             fmt::format("{} holds {}, which is not there any more", ToString(hold.owner),
                         ToString(hold.device)));
  }

  // A claim was given one incarnation of a device; the next one is not what it prepared.
  void CompareClaims(const model::Inventory& inventory) {
    std::set<std::string> readable;
    for (const model::Gpu& gpu : inventory.gpus)
      if (gpu.uuid && !model::WhyMigUnknown(gpu)) readable.insert(gpu.uuid->value());
    const State before = state_;
    for (const auto& [uid, claim] : before.claims) {
      if (claim.step != ClaimStep::kPrepareCompleted) continue;
      for (const Use& use : claim.uses) {
        const MigDevice* mig = MigPart(use.device);
        if (mig == nullptr || !readable.contains(mig->gpu.uuid.value())) continue;
        const SeenCompute* seen = FindSeen(state_, *mig);
        if (seen != nullptr && seen->uuid == mig->uuid && seen->incarnation == mig->incarnation)
          continue;
        RollBack(claim, fmt::format("{} holds {}, which is not there any more",
                                    ToString(Owner(claim.owner)), ToString(use.device)));
        break;
      }
    }
  }

  Verdict Done(const std::string& boot) && {
    if (state_.era.boot != boot) Do(Put{Era{boot, state_.era.next}});
    return std::move(verdict_);
  }

 private:
  void Find(FindingKind kind, std::string name, std::string text) {
    verdict_.findings.push_back({kind, std::move(name), std::move(text)});
  }

  void RollBack(Claim claim, std::string why) {
    Find(FindingKind::kRollBack, claim.owner.uid, std::move(why));
    claim.step = ClaimStep::kUnprepareStarted;
    Do(Put{std::move(claim)});
  }

  void Do(Change change) {
    Apply(state_, change);
    verdict_.changes.push_back(std::move(change));
  }

  State state_;
  Verdict verdict_;
};

}  // namespace

std::string_view ToString(FindingKind kind) {
  switch (kind) {
    case FindingKind::kFinish: return "finish";
    case FindingKind::kRollBack: return "roll back";
    case FindingKind::kInterrupted: return "interrupted";
    case FindingKind::kDrop: return "drop";
    case FindingKind::kForeign: return "foreign";
    case FindingKind::kGone: return "gone";
  }
  base::CheckFailed("a finding of the list", __FILE__, __LINE__);
}

Verdict Verify(const State& state,
               const model::Inventory& inventory,
               const std::string& boot,
               const Asked& asked) {
  const bool new_boot = state.era.boot != boot;
  Verification verification(state);
  if (new_boot) {
    verification.ForgetLastBoot();
  } else {
    verification.ResumeSteps();
  }
  verification.Look(inventory, asked, new_boot);
  verification.CompareClaims(inventory);
  return std::move(verification).Done(boot);
}

}  // namespace partita::service::ledger
