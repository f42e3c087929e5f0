// Random work on the ledger beside a model of its own: a plain grid of cells per GPU, each with its
// owners. The model foretells every answer from the cells alone and shares nothing with the
// ledger's overlap or decisions; after every operation both must name the same holders.
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "service/ledger/ledger.h"
#include "service/ledger/testing/book.h"
#include "service/ledger/testing/changing_machine.h"
#include "service/ledger/testing/grid.h"
#include "service/ledger/testing/machine.h"
#include "service/ledger/testing/recorded_disk.h"
#include "service/ledger/testing/scratch.h"
#include "tests/support/share.h"

namespace partita::service::ledger {
namespace {

using testing::Area;
using testing::At;
using testing::Book;
using testing::ChangingMachine;
using testing::ClaimModel;
using testing::kGpus;
using testing::kSlices;
using testing::OfferModel;
using testing::PlanModel;
using testing::PodModel;
using testing::SlicesMeet;

class RandomWork : private ChangingMachine {
 public:
  RandomWork(std::uint64_t seed, const std::string& directory)
      : ChangingMachine(seed), directory_(directory) {
    Reopen();
  }

  void Step() {
    now_ += std::chrono::milliseconds(Pick(400));
    struct Kind {
      std::size_t weight;
      void (RandomWork::*act)();
    };
    constexpr std::array<Kind, 12> kKinds = {{{4, &RandomWork::Allocate},
                                              {2, &RandomWork::Claim},
                                              {1, &RandomWork::CompleteClaim},
                                              {2, &RandomWork::ReleaseClaim},
                                              {3, &RandomWork::ReleasePod},
                                              {1, &RandomWork::BindPod},
                                              {1, &RandomWork::Withdraw},
                                              {2, &RandomWork::LockOrEnd},
                                              {1, &RandomWork::ChangeOffer},
                                              {1, &RandomWork::Publish},
                                              {1, &RandomWork::Disturb},
                                              {1, &RandomWork::Flush}}};
    std::size_t which = Pick(20);
    for (const Kind& kind : kKinds) {
      if (which < kind.weight) {
        (this->*kind.act)();
        break;
      }
      which -= kind.weight;
    }
    Compare();
  }

  [[nodiscard]] const std::map<std::string, std::size_t>& counts() const { return counts_; }

 private:
  template <typename Result>
  void Expect(const Result& result, bool expected, const char* what) {
    ++counts_[fmt::format("{} {}", what, expected ? "done" : "refused")];
    ASSERT_EQ(result.ok(), expected)
        << what << ": " << (result.ok() ? "was done" : result.error().ToString());
  }

  // Whoever is given something first has it: plans that have not begun go without.
  void CancelIn(const Area& area) {
    for (auto& [id, plan] : book_.plans)
      if (!plan.locked)
        std::erase_if(plan.scope, [&](const Area& one) { return SlicesMeet(one, area); });
  }

  void Allocate() {
    const std::optional<Choice> choice = AnyDevice();
    const std::string key = KeyOf(choice->device);
    const auto old = book_.pods.find(key);
    const bool known = MigPart(choice->device) == nullptr || Known(*MigPart(choice->device));
    const bool replaces = old != book_.pods.end() && !old->second.gone;
    if (replaces) book_.grid.Remove(old->second.area);
    const bool expected = known && book_.offers[choice->area.gpu].via == Via::kDevicePlugin &&
                          book_.grid.Fits(choice->area);
    const Owner owner = Pod{"", "", "", "r"};
    Expect(ledger_->Reserve({owner, {choice->device}}, now_), expected, "allocate");
    if (!expected && replaces) book_.grid.Add(old->second.area, key);
    if (!expected) return;
    book_.grid.Add(choice->area, key);
    book_.pods.insert_or_assign(key, PodModel{choice->device, choice->area, owner});
    CancelIn(choice->area);
  }

  void BindPod() {
    if (book_.pods.empty()) return;
    const auto pod = Any(book_.pods);
    if (pod->second.gone || std::get<Pod>(pod->second.owner).name != "") return;
    const Owner owner = Pod{"default", fmt::format("pod-{}", ++names_), "main", "r"};
    Expect(ledger_->Bind(pod->second.device, owner, now_), true, "bind");
    pod->second.owner = owner;
  }

  void ReleasePod() {
    if (book_.pods.empty()) return;
    const auto pod = Any(book_.pods);
    Expect(ledger_->Release(pod->second.device, pod->second.owner, now_), true, "release");
    if (!pod->second.gone) book_.grid.Remove(pod->second.area);
    book_.pods.erase(pod);
  }

  void Claim() {
    ClaimModel claim;
    claim.name = {fmt::format("uid-{}", ++names_), "default", "c"};
    std::optional<Choice> choice = AnyDevice();
    bool known = MigPart(choice->device) == nullptr || Known(*MigPart(choice->device));
    if (Chance(3)) {
      // One still to be made, where nothing is now.
      const std::size_t gpu = Pick(kGpus);
      const std::size_t memory = std::size_t{1} << Pick(3);
      const std::size_t first = Pick(kSlices / memory) * memory;
      if (!IsFree(gpu, first, memory) || lost_.contains(gpu)) return;
      const auto size = static_cast<std::uint32_t>(memory);
      const MigDevice device{testing::GpuAt(machine_, gpu),
                             model::ProfileId(size),
                             {static_cast<std::uint32_t>(first), size},
                             {0, size}};
      choice = Choice{device, AreaOf(gpu, device)};
      claim.to_be_made = known = true;
    }
    const bool admin = !claim.to_be_made && Chance(8);
    claim.uses = {{choice->device, admin}};
    claim.areas = {choice->area};
    const bool expected = known && (admin || (book_.offers[choice->area.gpu].via == Via::kDra &&
                                              book_.grid.Fits(choice->area)));
    const auto receipt = ledger_->StartClaim({claim.name, claim.uses, now_}, now_);
    Expect(receipt, expected, claim.to_be_made ? "claim to be made" : "claim");
    if (!expected || !receipt.ok()) return;
    claim.attempt = receipt->attempt;
    if (!admin) {
      book_.grid.Add(choice->area, claim.name.uid);
      CancelIn(choice->area);
    }
    book_.claims.emplace(claim.name.uid, claim);
  }

  void CompleteClaim() {
    if (book_.claims.empty()) return;
    ClaimModel& claim = Any(book_.claims)->second;
    if (claim.step != ClaimStep::kPrepareStarted) return;
    if (claim.to_be_made) {
      const Area& area = claim.areas[0];
      if (lost_.contains(area.gpu)) return;
      Make(area.gpu, area.first, area.memory, false);
      Observe();
      const std::size_t last = machine_.gpus[area.gpu].mig->instances.size() - 1;
      claim.uses[0].device = testing::MigAt(machine_, area.gpu, last);
    }
    Expect(ledger_->CompleteClaim(claim.name.uid, claim.attempt, claim.uses, now_), true,
           "complete");
    claim.step = ClaimStep::kPrepareCompleted;
  }

  void ReleaseClaim() {
    if (book_.claims.empty()) return;
    const auto at = Any(book_.claims);
    ClaimModel& claim = at->second;
    if (claim.step != ClaimStep::kUnprepareStarted) {
      Expect(ledger_->StartRelease(at->first, now_), true, "start release");
      claim.step = ClaimStep::kUnprepareStarted;
      if (Chance(2)) return;
    }
    if (lost_.contains(claim.areas[0].gpu)) return;
    if (claim.to_be_made) {
      Clear(claim.areas[0].gpu, claim.areas[0].first, claim.areas[0].memory);
      Observe();
    }
    Expect(ledger_->FinishRelease(at->first, now_), true, "finish release");
    if (!claim.uses[0].admin) book_.grid.Remove(claim.areas[0]);
    book_.claims.erase(at);
  }

  void Withdraw() {
    const std::size_t gpu = Pick(kGpus);
    const auto& instances = machine_.gpus[gpu].mig->instances;
    PlanModel plan;
    std::vector<Device> scope;
    if (instances.empty() || Chance(2)) {
      scope.emplace_back(testing::GpuAt(machine_, gpu));
      plan.scope.push_back({gpu});
    } else {
      for (const model::GpuInstance& instance : instances) {
        if (!Chance(2)) continue;
        const MigDevice all =
            WholeInstance(testing::GpuAt(machine_, gpu), instance.profile, instance.placement);
        scope.emplace_back(all);
        plan.scope.push_back({gpu, all.memory.start, all.memory.size});
      }
    }
    bool expected = true;
    for (const auto& [id, other] : book_.plans)
      for (const Area& theirs : other.scope)
        for (const Area& ours : plan.scope) expected = expected && !SlicesMeet(theirs, ours);
    const std::string id = fmt::format("plan-{}", ++names_);
    Expect(ledger_->Withdraw(id, scope, now_), expected, "withdraw");
    if (expected) book_.plans.emplace(id, plan);
  }

  void LockOrEnd() {
    if (book_.plans.empty()) return;
    const auto at = Any(book_.plans);
    PlanModel& plan = at->second;
    if (plan.locked) {
      EndPlan(at->first);
      return;
    }
    bool expected = !plan.scope.empty();
    for (const Area& area : plan.scope) expected = expected && !book_.AnybodyIn(area);
    Expect(ledger_->Lock(at->first, now_), expected, "lock");
    if (expected) {
      plan.locked = true;
      for (Area& area : plan.scope) {
        area.made = at->first;
        book_.grid.Add(area, at->first);
      }
    } else if (Chance(2)) {
      Expect(ledger_->EndPlan(at->first, now_), true, "give up");
      book_.plans.erase(at);
    }
  }

  // Only here does the layout change by our own hand.
  void EndPlan(const std::string& id) {
    PlanModel plan = book_.plans.at(id);
    for (const Area& area : plan.scope) {
      if (lost_.contains(area.gpu)) return;
      if (!Chance(4)) {
        Clear(area.gpu, area.first, area.memory);
        Divide(area.gpu, area.first, area.memory);
      }
    }
    if (Chance(2)) Observe();
    Expect(ledger_->EndPlan(id, now_), true, "MIG change");
    for (const Area& area : plan.scope) {
      book_.grid.Remove(area);
      // What was worked on is new, and unknown until somebody looks.
      std::erase_if(known_, [&](const auto& row) { return SlicesMeet(row.second, area); });
    }
    book_.plans.erase(id);
    Observe();
  }

  void ChangeOffer() {
    const std::size_t gpu = Pick(kGpus);
    const Via via =
        std::array{Via::kDevicePlugin, Via::kDevicePlugin, Via::kDra, Via::kNone}[Pick(4)];
    Expect(ledger_->ChangeOffer(Board(fmt::format("GPU-{}", gpu)), via, now_), true, "offer");
    book_.offers[gpu].next = via == book_.offers[gpu].via ? std::nullopt : std::optional(via);
  }

  void Publish() {
    const auto receipt = ledger_->PublishOffers(now_);
    Expect(receipt, true, "publish");
    std::set<std::string> expected, published;
    for (std::size_t gpu = 0; gpu < kGpus; ++gpu) {
      OfferModel& offer = book_.offers[gpu];
      const Area all{gpu};
      if (!offer.next || !book_.grid.Fits(all)) continue;
      expected.insert(fmt::format("GPU-{}", gpu));
      offer = {*offer.next, std::nullopt};
    }
    for (const Board& board : receipt->published) published.insert(board.value());
    ASSERT_EQ(published, expected);
  }

  void Flush() {
    Expect(ledger_->Flush(now_), true, "flush");
    if (Chance(3)) Expect(ledger_->Sweep(now_), true, "sweep");
  }

  void Disturb() {
    switch (Pick(12)) {
      case 0:
      case 1:
      case 2: LoseGpu(); break;
      case 3:
      case 4:
      case 5:
      case 6:
      case 7: OthersChangeMig(); break;
      case 8:
      case 9:
      case 10: Crash("crash"); break;
      default: Reboot(); break;
    }
  }

  void LoseGpu() {
    ++counts_["lost GPU"];
    if (lost_.empty()) {
      lost_.insert(Pick(kGpus));
    } else {
      lost_.clear();
    }
    Observe();
  }

  // Somebody with nvidia-smi, where no claim and no operation of ours is.
  void OthersChangeMig() {
    const std::size_t gpu = Pick(kGpus);
    for (const auto& [uid, claim] : book_.claims)
      if (claim.areas[0].gpu == gpu) return;
    for (const auto& [id, plan] : book_.plans)
      if (plan.locked && plan.scope[0].gpu == gpu) return;
    if (lost_.contains(gpu)) return;
    ++counts_["MIG change by others"];
    if (kept_layouts_.contains(gpu) && Chance(2)) {
      std::swap(machine_.gpus[gpu].mig->instances, kept_layouts_[gpu]);
    } else {
      kept_layouts_[gpu] = machine_.gpus[gpu].mig->instances;
      Clear(gpu, 0, kSlices);
      Divide(gpu, 0, kSlices);
    }
    Observe();
  }

  void Observe() {
    Expect(ledger_->Observe(Look(), {}, now_), true, "observe");
    NoteLook();
  }

  // First what went, then what came back, in the order of keys.
  void NoteLook() {
    Remember();
    for (auto& [key, pod] : book_.pods) {
      const MigDevice* mig = MigPart(pod.device);
      if (mig == nullptr || pod.gone || lost_.contains(pod.area.gpu) || Exists(*mig)) continue;
      pod.gone = true;
      book_.grid.Remove(pod.area);
    }
    for (auto& [key, pod] : book_.pods) {
      const MigDevice* mig = MigPart(pod.device);
      if (!pod.gone || lost_.contains(pod.area.gpu) || !Exists(*mig)) continue;
      if (!book_.grid.Fits(pod.area)) continue;
      pod.gone = false;
      book_.grid.Add(pod.area, key);
    }
  }

  void Reopen() {
    ledger_.reset();
    base::Result<Ledger::Opened> opened = Ledger::Open({directory_, 20000});
    ASSERT_TRUE(opened.ok()) << opened.error().ToString();
    ASSERT_TRUE(opened->warnings.empty()) << opened->warnings.front();
    ledger_.emplace(std::move(opened->ledger));
    (void)ledger_->Settle(Look(), fmt::format("boot-{}", boot_), {}, now_);
    NoteLook();
  }

  // Nothing of what was answered is lost.
  void Crash(const char* what) {
    ++counts_[what];
    for (auto& [uid, claim] : book_.claims)
      if (claim.step == ClaimStep::kPrepareStarted) claim.step = ClaimStep::kUnprepareStarted;
    std::erase_if(book_.plans, [](const auto& row) { return !row.second.locked; });
    Reopen();
    Compare();
  }

  void Reboot() {
    ++boot_;
    for (const auto& [uid, claim] : book_.claims)
      if (!claim.uses[0].admin) book_.grid.Remove(claim.areas[0]);
    for (const auto& [id, plan] : book_.plans)
      if (plan.locked)
        for (const Area& area : plan.scope) book_.grid.Remove(area);
    book_.claims.clear();
    book_.plans.clear();
    lost_.clear();
    if (Chance(2)) {
      const std::size_t gpu = Pick(kGpus);
      Clear(gpu, 0, kSlices);
      Divide(gpu, 0, kSlices);
    }
    Crash("reboot");
  }

  // Both must name the same holders of the same devices.
  void Compare() {
    std::multiset<std::string> model, ledger;
    for (const auto& [key, pod] : book_.pods)
      if (!pod.gone) model.insert(ToString(pod.owner) + " " + key);
    for (const auto& [uid, claim] : book_.claims)
      for (const Use& use : claim.uses)
        model.insert(fmt::format("{} {} {}", uid, KeyOf(use.device), use.admin));
    for (const auto& [id, plan] : book_.plans)
      if (plan.locked)
        for (const Area& area : plan.scope)
          model.insert(fmt::format("{} {} {}+{}", id, area.gpu, area.first, area.memory));
    for (const Holder& holder : HoldersOf(ledger_->state())) {
      const std::string key = KeyOf(holder.use.device);
      if (const auto* claim = std::get_if<ClaimName>(&holder.owner)) {
        ledger.insert(fmt::format("{} {} {}", claim->uid, key, holder.use.admin));
      } else if (const auto* operation = std::get_if<Operation>(&holder.owner)) {
        const auto* mig = std::get_if<MigDevice>(&holder.use.device);
        ledger.insert(fmt::format(
            "{} {} {}+{}", operation->plan, BoardOf(holder.use.device).value().substr(4),
            mig == nullptr ? 0 : mig->memory.start, mig == nullptr ? kSlices : mig->memory.size));
      } else {
        ledger.insert(ToString(holder.owner) + " " + key);
      }
    }
    ASSERT_EQ(ledger, model);
  }

  std::string directory_;
  std::map<std::size_t, std::vector<model::GpuInstance>> kept_layouts_;
  std::optional<Ledger> ledger_;
  Book book_;
  Time now_ = At(1000);
  std::size_t names_ = 0;
  int boot_ = 1;
  std::map<std::string, std::size_t> counts_;
};

std::uint64_t Setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(RandomLedger, GivesNoAtomTwiceAndLosesNone) {
  const std::uint64_t seed = Setting("PARTITA_TEST_SEED", 9);
  const std::uint64_t operations = Setting("PARTITA_TEST_OPERATIONS", 20000 / tests::Share());
  std::printf("seed %llu, %llu operations (PARTITA_TEST_SEED, PARTITA_TEST_OPERATIONS)\n",
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(operations));
  const testing::Scratch scratch;
  testing::SkipSyncs(true);
  RandomWork work(seed, scratch.path());
  for (std::uint64_t i = 0; i < operations && !HasFailure(); ++i) {
    work.Step();
    if (HasFailure()) std::printf("operation %llu\n", static_cast<unsigned long long>(i));
  }
  testing::SkipSyncs(false);
  for (const auto& [what, count] : work.counts()) std::printf("%8zu %s\n", count, what.c_str());
}

}  // namespace
}  // namespace partita::service::ledger
