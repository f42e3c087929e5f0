#include "agent/ledger_keeper.h"

#include <signal.h>
#include <sys/resource.h>

#include <string>

#include <gtest/gtest.h>

#include "agent/boot_id.h"
#include "base/files.h"
#include "base/state_file.h"
#include "model/testing/sample_gpus.h"
#include "net/testing/fake_loop.h"
#include "service/ledger/testing/scratch.h"

namespace partita::agent {
namespace {

using model::StepKind;
using service::inventory::Snapshot;
using service::ledger::Ledger;
using service::ledger::WholeGpu;
using service::mig::GpuSteps;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Two A100, each with 3g.20gb at 4 and 1g.5gb at 0.
class LedgerKeeperTest : public ::testing::Test {
 protected:
  LedgerKeeperTest() {
    for (std::uint32_t i = 0; i < 2; ++i) {
      node_.gpus.push_back(model::testing::A100(i));
      LayOut(i, {{"3g.20gb", 4, 1}, {"1g.5gb", 0, 7}});
    }
  }
  void TearDown() override {
    if (keeper_) (void)keeper_->Close();
  }
  struct Made {
    std::string profile;
    std::uint32_t start, id;
  };
  void LayOut(std::size_t gpu, const std::vector<Made>& instances) {
    model::testing::MigBuilder builder(model::testing::A100Profiles(),
                                       static_cast<std::uint32_t>(gpu));
    for (const Made& each : instances) builder.Add(each.profile, each.start, each.id, {1});
    model::testing::Slice(node_.gpus[gpu], builder.Build());
  }
  // As a look would.
  void Look() {
    Snapshot next;
    next.revision = next.revisions.shape = ++revision_;
    next.inventory = node_;
    keeper_->Observe(std::make_shared<const Snapshot>(std::move(next)));
  }
  LedgerKeeper& Open() {
    keeper_.emplace(loop_, log_);
    keeper_->Open(scratch_.path());
    Look();
    return *keeper_;
  }
  // What a life before left behind.
  void Before(const std::function<void(Ledger&)>& life) {
    auto opened = Ledger::Open({scratch_.path()});
    ASSERT_TRUE(opened.ok()) << opened.error().ToString();
    (void)opened->ledger.Settle(node_, *ReadBootId(), std::nullopt, {});
    life(opened->ledger);
    ASSERT_TRUE(opened->ledger.Flush({}).ok());
  }
  [[nodiscard]] WholeGpu Gpu(std::size_t i) const {
    return {*node_.gpus[i].uuid, node_.gpus[i].pci};
  }
  [[nodiscard]] std::vector<GpuSteps> ResetOf(std::size_t gpu) const {
    return {{model::GpuIdentity::Of(node_.gpus[gpu]), {{StepKind::kReset, {0, 0}, {}, {}}}}};
  }
  void Applied() {
    const auto document = service::mig::CheckpointDocument(node_);
    ASSERT_TRUE(document.ok());
    ASSERT_TRUE(
        base::WriteState({scratch_.path() + "/mig.json", "mig", 1}, base::ToJson(*document)).ok());
  }
  [[nodiscard]] std::int64_t Count(const std::string& what) const {
    return keeper_->Counts().Find(what)->AsInteger();
  }
  // Until what was written behind is on disk.
  void Settled() {
    loop_.Advance(milliseconds(100));
    loop_.RunUntil([this] { return loop_.ArmedTimers().empty(); });
    ASSERT_TRUE(keeper_->Close().ok());
  }
  [[nodiscard]] service::ledger::State OnDisk() const {
    return Ledger::Open({scratch_.path()})->ledger.state();
  }

  const service::ledger::Owner pod_ =
      service::ledger::Pod{"default", "train", "main", "nvidia.com/gpu"};
  service::ledger::testing::Scratch scratch_;
  net::testing::FakeLoop loop_;
  std::string lines_;
  base::Log log_{loop_.clock(), [this](std::string_view line) { lines_ += line; }};
  model::Inventory node_;
  std::uint64_t revision_ = 0;
  std::optional<LedgerKeeper> keeper_;
};

TEST_F(LedgerKeeperTest, WritesBehindAndRestsThen) {
  Open();
  ASSERT_EQ(loop_.ArmedTimers().size(), 1U);
  EXPECT_EQ(loop_.ArmedTimers()[0],
            (std::pair<std::string, net::Duration>("ledger-flush", milliseconds(100))));
  loop_.Advance(milliseconds(100));
  EXPECT_EQ(OnDisk().instances.size(), 4U) << "written, before it is synced";
  EXPECT_TRUE(loop_.ArmedTimers().empty());
  // The same again is nothing new.
  Look();
  EXPECT_TRUE(loop_.ArmedTimers().empty());
  EXPECT_EQ(keeper_->problem(), "");
}

TEST_F(LedgerKeeperTest, WritesInTimeWhateverTheWallsClockDoes) {
  Open();
  loop_.fake_clock().SetWall(loop_.clock().WallNow() - std::chrono::hours(5));
  LayOut(1, {});
  Look();
  loop_.Advance(milliseconds(100));
  EXPECT_EQ(OnDisk().instances.size(), 2U);
}

TEST_F(LedgerKeeperTest, ThatKnowsOfNoPodBeginsNothingBeforeKubeletHasTold) {
  bool owed = true;
  LedgerKeeper& keeper = Open();
  keeper.HoldersOwed([&] { return owed; });
  const auto refused = keeper.BeginPlan(node_, ResetOf(0));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), base::ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message().find("nobody knows which pods hold devices"), 0U);
  owed = false;
  EXPECT_TRUE(keeper.BeginPlan(node_, ResetOf(0)).ok());
}

TEST_F(LedgerKeeperTest, ThatKnowsItsPodsDoesNotWaitForKubelet) {
  Before([&](Ledger& ledger) { ASSERT_TRUE(ledger.Reserve({pod_, {Gpu(0)}}, {}).ok()); });
  LedgerKeeper& keeper = Open();
  keeper.HoldersOwed([] { return true; });
  EXPECT_TRUE(keeper.BeginPlan(node_, ResetOf(1)).ok());
}

// Of those that it lost it knows nothing.
TEST_F(LedgerKeeperTest, ThatWasDamagedWaitsForKubeletAlsoWhereItKnowsSomePods) {
  Before([&](Ledger& ledger) { ASSERT_TRUE(ledger.Reserve({pod_, {Gpu(0)}}, {}).ok()); });
  const std::string journal = scratch_.path() + "/ledger.journal";
  const std::string whole = base::ReadFile(journal).value();
  ASSERT_TRUE(base::WriteFile(journal, whole + "1 99 5000 abc {\"cha", 0600).ok());
  LedgerKeeper& keeper = Open();
  EXPECT_EQ(keeper.state()->holds.size(), 1U);
  keeper.HoldersOwed([] { return true; });
  EXPECT_FALSE(keeper.knows_holders());
  EXPECT_FALSE(keeper.BeginPlan(node_, ResetOf(1)).ok());
}

TEST_F(LedgerKeeperTest, HasAllOnDiskWhenItIsClosed) {
  Open();
  ASSERT_TRUE(keeper_->Close().ok());
  EXPECT_TRUE(loop_.ArmedTimers().empty());
  EXPECT_EQ(OnDisk().instances.size(), 4U);
}

TEST_F(LedgerKeeperTest, GoesOnWhileItsDiskFails) {
  Open();
  // No file may grow: as on a full disk.
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  LayOut(1, {});
  Look();
  loop_.Advance(milliseconds(300));
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_NE(keeper_->warning().find("ledger.journal"), std::string::npos) << keeper_->warning();
  EXPECT_EQ(keeper_->problem(), "");
  const std::string line = "the ledger is not on disk, and tried again";
  ASSERT_NE(lines_.find(line), std::string::npos) << lines_;
  EXPECT_EQ(lines_.find(line, lines_.find(line) + 1), std::string::npos) << "told once";
  loop_.Advance(milliseconds(100));
  loop_.RunUntil([this] { return keeper_->warning().empty(); });
  EXPECT_NE(lines_.find("the ledger is on disk again"), std::string::npos) << lines_;
  EXPECT_EQ(OnDisk().instances.size(), 2U);
}

TEST_F(LedgerKeeperTest, StaysClosedWhenALookComesLate) {
  Open();
  ASSERT_TRUE(keeper_->Close().ok());
  LayOut(1, {});
  Look();
  EXPECT_TRUE(loop_.ArmedTimers().empty());
  EXPECT_EQ(keeper_->Counts(), base::Value());
  EXPECT_EQ(OnDisk().instances.size(), 4U);
}

TEST_F(LedgerKeeperTest, PinsWhatAPodHolds) {
  Before([&](Ledger& ledger) {
    const auto devices = OwnMigDevices(ledger.state());
    ASSERT_TRUE(ledger.Bind(devices.front(), pod_, {}).ok());
  });
  Open();
  EXPECT_EQ(keeper_->Pinned(node_).instances.size(), 1U);
  EXPECT_EQ(Count("holds"), 1);
  const base::Value document = keeper_->Document();
  ASSERT_EQ(document.Find("devices")->items().size(), 1U);
  const base::Value& hold = document.Find("devices")->items()[0];
  EXPECT_EQ(hold.Find("owner")->AsString(), "pod default/train (main)");
  EXPECT_EQ(hold.Find("state")->AsString(), "held");
}

TEST_F(LedgerKeeperTest, TakesWhatAPlanWorksOnAndGivesItBack) {
  Open();
  const auto plan = keeper_->BeginPlan(node_, ResetOf(0));
  ASSERT_TRUE(plan.ok()) << plan.error().ToString();
  EXPECT_EQ(OnDisk().plans.at(*plan).locked, true) << "before anything is done";
  EXPECT_EQ(Count("plans"), 1);
  const auto second = keeper_->BeginPlan(node_, ResetOf(0));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), base::ErrorCode::kBusy);
  EXPECT_NE(second.error().ToString().find("operation " + *plan), std::string::npos)
      << second.error().ToString();
  const auto beside = keeper_->BeginPlan(node_, ResetOf(1));
  ASSERT_TRUE(beside.ok()) << beside.error().ToString();
  EXPECT_NE(*beside, *plan);
  Look();
  keeper_->EndPlan(*beside);
  keeper_->EndPlan(*plan);
  EXPECT_EQ(Count("plans"), 0);
  EXPECT_EQ(Count("foreign"), 0);
  ASSERT_TRUE(keeper_->BeginPlan(node_, ResetOf(0)).ok());
}

// kubelet may have chosen a device before it heard that it is withdrawn.
TEST_F(LedgerKeeperTest, APodThatComesBeforeTheLockHasTheDeviceAndThePlanFails) {
  Open();
  int told = 0;
  keeper_->OnPlans([&] { ++told; });
  const auto plan = keeper_->WithdrawPlan(node_, ResetOf(0));
  ASSERT_TRUE(plan.ok()) << plan.error().ToString();
  EXPECT_EQ(told, 1) << "kubelet is to hear of it now";
  ASSERT_TRUE(keeper_->Reserve("nvidia.com/gpu", {Gpu(0)}).ok());
  const auto locked = keeper_->LockPlan(*plan, node_);
  ASSERT_FALSE(locked.ok());
  EXPECT_NE(locked.error().ToString().find("meanwhile"), std::string::npos)
      << locked.error().ToString();
  EXPECT_EQ(Count("plans"), 0);
  EXPECT_EQ(Count("holds"), 1);
}

TEST_F(LedgerKeeperTest, WhereKubeletIsOfferedGpusItIsGivenAMomentToHear) {
  Open();
  bool offers = false;
  keeper_->OfferedBy([&] { return offers; });
  std::vector<std::string> begun;
  const auto begin = [&](std::size_t gpu) {
    keeper_->BeginPlan(node_, ResetOf(gpu), [&](base::Result<std::string> id) {
      begun.push_back(id.ok() ? *id : id.error().ToString());
    });
  };
  begin(0);
  ASSERT_EQ(begun.size(), 1U) << "nobody needs to hear";
  keeper_->EndPlan(begun[0]);
  offers = true;
  begin(0);
  EXPECT_EQ(begun.size(), 1U);
  ASSERT_TRUE(keeper_->Reserve("nvidia.com/gpu", {Gpu(0)}).ok()) << "it was quicker";
  loop_.Advance(milliseconds(200));
  ASSERT_EQ(begun.size(), 2U);
  EXPECT_EQ(begun[1], "a pod was given a device of this change meanwhile");
  begin(1);
  loop_.Advance(milliseconds(200));
  ASSERT_EQ(begun.size(), 3U);
  EXPECT_FALSE(keeper_->Reserve("nvidia.com/gpu", {Gpu(1)}).ok());
}

// Some of it, not all: the rest is as good as nothing.
TEST_F(LedgerKeeperTest, APlanThatLostAPartIsNotCarriedOut) {
  Open();
  std::vector<GpuSteps> both = ResetOf(0);
  both.push_back(ResetOf(1)[0]);
  const auto plan = keeper_->WithdrawPlan(node_, both);
  ASSERT_TRUE(plan.ok()) << plan.error().ToString();
  ASSERT_TRUE(keeper_->Reserve("nvidia.com/gpu", {Gpu(1)}).ok());
  EXPECT_FALSE(keeper_->LockPlan(*plan, node_).ok());
  EXPECT_TRUE(keeper_->Reserve("nvidia.com/gpu", {Gpu(0)}).ok()) << "it was given back";
}

TEST_F(LedgerKeeperTest, APodThatComesAfterTheLockIsRefused) {
  Open();
  const auto plan = keeper_->WithdrawPlan(node_, ResetOf(0));
  ASSERT_TRUE(plan.ok());
  ASSERT_TRUE(keeper_->LockPlan(*plan, node_).ok());
  const auto given = keeper_->Reserve("nvidia.com/gpu", {Gpu(0)});
  ASSERT_FALSE(given.ok());
  EXPECT_EQ(given.error().code(), base::ErrorCode::kBusy);
  EXPECT_NE(given.error().ToString().find("operation " + *plan), std::string::npos)
      << given.error().ToString();
  EXPECT_TRUE(keeper_->Reserve("nvidia.com/gpu", {Gpu(1)}).ok()) << "of another GPU";
}

TEST_F(LedgerKeeperTest, WhatKubeletSaysOfItsPodsIsKept) {
  Open();
  ASSERT_TRUE(keeper_->Reserve("nvidia.com/gpu", {Gpu(0)}).ok());
  EXPECT_EQ(keeper_->Document().Find("devices")->items()[0].Find("state")->AsString(), "reserved");
  keeper_->Bind(Gpu(0), pod_);
  EXPECT_EQ(keeper_->Document().Find("devices")->items()[0].Find("owner")->AsString(),
            "pod default/train (main)");
  keeper_->Release(Gpu(0), service::ledger::Pod{"default", "other", "main", "nvidia.com/gpu"});
  EXPECT_EQ(Count("holds"), 1) << "another's";
  keeper_->Release(Gpu(0), pod_);
  EXPECT_EQ(Count("holds"), 0);
}

TEST_F(LedgerKeeperTest, WithoutALedgerPodsGetWhatKubeletGivesThem) {
  keeper_.emplace(loop_, log_);
  EXPECT_EQ(keeper_->state(), nullptr);
  EXPECT_TRUE(keeper_->Reserve("nvidia.com/gpu", {Gpu(0)}).ok());
  EXPECT_NE(lines_.find("a pod was given devices that no ledger knows of"), std::string::npos);
}

TEST_F(LedgerKeeperTest, NamesTheHolderInThePlansWay) {
  Before([&](Ledger& ledger) { ASSERT_TRUE(ledger.Bind(Gpu(0), pod_, {}).ok()); });
  Open();
  const auto plan = keeper_->BeginPlan(node_, ResetOf(0));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code(), base::ErrorCode::kBusy);
  EXPECT_NE(plan.error().ToString().find("pod default/train (main) holds"), std::string::npos)
      << plan.error().ToString();
  EXPECT_EQ(Count("plans"), 0) << "nothing was taken";
}

TEST_F(LedgerKeeperTest, EndsAPlanThatACrashInterrupted) {
  Applied();
  Before([&](Ledger& ledger) {
    ASSERT_TRUE(ledger.Withdraw("mig-1", {Gpu(0)}, {}).ok());
    ASSERT_TRUE(ledger.Lock("mig-1", {}).ok());
  });
  // Half done: not what was applied last, and of our making all the same.
  LayOut(0, {{"2g.10gb", 2, 3}});
  Open();
  EXPECT_NE(lines_.find("operation mig-1 was under way when the agent ended"), std::string::npos)
      << lines_;
  EXPECT_EQ(Count("plans"), 0);
  EXPECT_EQ(Count("foreign"), 0);
  EXPECT_TRUE(keeper_->BeginPlan(node_, ResetOf(0)).ok());
}

TEST_F(LedgerKeeperTest, TellsInstancesOfSomebodyElseOnce) {
  Applied();
  Open();
  EXPECT_EQ(Count("foreign"), 0);
  LayOut(0, {{"3g.20gb", 4, 1}, {"1g.5gb", 0, 7}, {"1g.5gb", 2, 9}});
  Look();
  Look();
  EXPECT_EQ(Count("foreign"), 1);
  const std::string line = "a GPU instance that is not of our making";
  ASSERT_NE(lines_.find(line), std::string::npos) << lines_;
  EXPECT_EQ(lines_.find(line, lines_.find(line) + 1), std::string::npos) << lines_;
  // Somebody applied it beside the agent: with the next look, although the node is as it was.
  Applied();
  keeper_->Observe([&] {
    Snapshot same;
    same.revision = same.revisions.shape = revision_;
    same.inventory = node_;
    return std::make_shared<const Snapshot>(same);
  }());
  EXPECT_EQ(Count("foreign"), 0);
}

TEST_F(LedgerKeeperTest, CountsWhatItsPlansMakeAsOurs) {
  Applied();
  Open();
  const auto plan = keeper_->BeginPlan(node_, ResetOf(0));
  ASSERT_TRUE(plan.ok());
  // Not remembered as applied: it failed half-way.
  LayOut(0, {{"2g.10gb", 2, 3}});
  Look();
  keeper_->EndPlan(*plan);
  EXPECT_EQ(Count("foreign"), 0);
  Look();
  EXPECT_EQ(Count("foreign"), 0);
}

// It made what is there, and fell silent before its end was seen.
TEST_F(LedgerKeeperTest, CountsWhatItsPlansMadeAsOursOnceTheGpuAnswers) {
  Applied();
  Open();
  const auto plan = keeper_->BeginPlan(node_, ResetOf(0));
  ASSERT_TRUE(plan.ok());
  const auto mig = std::exchange(node_.gpus[0].mig, std::nullopt);
  node_.gpus[0].faults = {{model::FaultKind::kUnreadable, "it does not answer"}};
  Look();
  keeper_->EndPlan(*plan);
  Look();
  node_.gpus[0].mig = mig;
  node_.gpus[0].faults.clear();
  LayOut(0, {{"2g.10gb", 2, 3}});
  Look();
  EXPECT_EQ(Count("foreign"), 0);
  // What comes later is of somebody else's.
  LayOut(0, {{"2g.10gb", 2, 3}, {"1g.5gb", 6, 9}});
  Look();
  EXPECT_EQ(Count("foreign"), 1);
}

TEST_F(LedgerKeeperTest, AnOrderTakesOverTheForeignInstancesThatItNames) {
  Applied();
  Open();
  LayOut(0, {{"3g.20gb", 4, 1}, {"1g.5gb", 0, 7}, {"1g.5gb", 2, 9}});
  Look();
  ASSERT_EQ(Count("foreign"), 1);
  EXPECT_TRUE(keeper_->BeginPlan(node_, ResetOf(1)).ok());
  EXPECT_EQ(Count("foreign"), 1) << "of another GPU";
  EXPECT_TRUE(keeper_->BeginPlan(node_, ResetOf(0)).ok());
  EXPECT_EQ(Count("foreign"), 0);
}

TEST_F(LedgerKeeperTest, ForgetsOldPlansWithALook) {
  Open();
  const auto plan = keeper_->BeginPlan(node_, ResetOf(0));
  Look();
  keeper_->EndPlan(*plan);
  Settled();
  EXPECT_EQ(OnDisk().plans.size(), 1U);
  Open();
  loop_.Advance(seconds(60));
  Look();
  Settled();
  EXPECT_EQ(OnDisk().plans.size(), 0U);
}

TEST_F(LedgerKeeperTest, GoesOnWithoutADamagedFile) {
  Open();
  ASSERT_TRUE(keeper_->Close().ok());
  ASSERT_TRUE(base::WriteFile(scratch_.path() + "/ledger.json", "rubbish", 0600).ok());
  Open();
  EXPECT_EQ(keeper_->problem(), "");
  EXPECT_NE(lines_.find("ledger.json was damaged"), std::string::npos) << lines_;
  EXPECT_TRUE(keeper_->BeginPlan(node_, ResetOf(0)).ok());
}

TEST_F(LedgerKeeperTest, OpensALedgerThatItCouldNotOpenWithALaterLook) {
  const std::string file = scratch_.path() + "/ledger.json";
  ASSERT_TRUE(base::WriteState({file, "ledger", 2}, "{}").ok());
  int told = 0;
  keeper_.emplace(loop_, log_, [&] { ++told; });
  keeper_->Open(scratch_.path());
  Look();
  EXPECT_NE(keeper_->problem().find("ledger.json"), std::string::npos) << keeper_->problem();
  EXPECT_EQ(told, 1);
  const auto plan = keeper_->BeginPlan(node_, ResetOf(0));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code(), base::ErrorCode::kUnavailable);
  EXPECT_EQ(keeper_->Pinned(node_), model::PinnedParts());
  EXPECT_EQ(keeper_->Counts(), base::Value());
  ASSERT_TRUE(base::RemoveTree(file).ok());
  Look();
  EXPECT_EQ(keeper_->problem(), "");
  EXPECT_EQ(told, 2);
  EXPECT_TRUE(keeper_->BeginPlan(node_, ResetOf(0)).ok());
}

}  // namespace
}  // namespace partita::agent
