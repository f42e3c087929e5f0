#include "service/ledger/plans.h"

#include "service/ledger/testing/verbs_fixture.h"

namespace partita::service::ledger {
namespace {

using testing::At;
using PlansTest = testing::VerbsTest;

MigDevice AllOf(const MigDevice& device) {
  return WholeInstance(device.gpu, device.profile, device.memory);
}

TEST_F(PlansTest, CloseThenLockThenGiveBack) {
  Do(Withdraw(state_, "p", {Gpu(0)}, At(1)));
  EXPECT_EQ(StateOf(state_, Gpu(0)), DeviceState::kClosing);
  const Receipt receipt = Do(Lock(state_, "p"));
  EXPECT_EQ(receipt.locked, std::vector<Device>{Gpu(0)});
  EXPECT_EQ(StateOf(state_, Gpu(0)), DeviceState::kLocked);
  EXPECT_EQ(Why(Reserve(state_, {pod_, {Gpu(0)}}, At(2))),
            "GPU-0 cannot be given to a pod not yet seen (nvidia.com/gpu): operation p holds GPU-0 "
            "(one of them needs the whole GPU)");
  Do(EndPlan(state_, "p"));
  EXPECT_EQ(StateOf(state_, Gpu(0)), DeviceState::kFree);
  EXPECT_TRUE(Sweep(state_, At(60)).changes.empty());
  Do(Sweep(state_, At(61)));
  EXPECT_TRUE(state_.plans.empty());
}

TEST_F(PlansTest, AreRefusedWhileAnybodyHolds) {
  Do(Bind(state_, Gpu(0), train_, At(1)));
  Do(Withdraw(state_, "p", {Gpu(0)}, At(2)));
  EXPECT_EQ(StateOf(state_, Gpu(0)), DeviceState::kClosing) << "withdrawn, waits for its holder";
  EXPECT_EQ(Why(Lock(state_, "p")),
            "GPU-0 cannot be given to operation p: pod default/train (main) holds GPU-0 (one of "
            "them needs the whole GPU)");
  Do(Release(state_, Gpu(0), train_));
  Do(Lock(state_, "p"));
}

TEST_F(PlansTest, LoseWhatIsAllocatedBeforeTheyLock) {
  Do(Withdraw(state_, "p", {AllOf(Mig(0)), AllOf(Mig(1))}, At(1)));
  const Receipt receipt = Do(Reserve(state_, {pod_, {Mig(1)}}, At(2)));
  EXPECT_EQ(receipt.cancelled, (std::vector<Cancelled>{{"p", AllOf(Mig(1))}}));
  EXPECT_EQ(Do(Lock(state_, "p")).locked, std::vector<Device>{AllOf(Mig(0))});
  EXPECT_EQ(StateOf(state_, Mig(1)), DeviceState::kReserved);
  EXPECT_EQ(StateOf(state_, Mig(0)), DeviceState::kLocked);
}

TEST_F(PlansTest, LoseEverythingToOneAllocation) {
  Do(Withdraw(state_, "p", {AllOf(Mig(0)), AllOf(Mig(1))}, At(1)));
  const Receipt receipt = Do(Reserve(state_, {pod_, {Mig(0), Mig(1)}}, At(2)));
  EXPECT_EQ(receipt.cancelled.size(), 2U);
  EXPECT_EQ(Why(Lock(state_, "p")), "nothing is withdrawn for operation p");
}

TEST_F(PlansTest, LoseWhatIsClaimedBeforeTheyLock) {
  OfferAs(0, Via::kDra);
  Do(Withdraw(state_, "p", {Gpu(0)}, At(1)));
  EXPECT_EQ(Do(Claiming("u", {{Gpu(0)}})).cancelled.size(), 1U);
}

TEST_F(PlansTest, OfTwoTheSecondIsRefused) {
  Do(Withdraw(state_, "p", {Gpu(1)}, At(1)));
  EXPECT_EQ(Why(Withdraw(state_, "q", {AllOf(Mig(0))}, At(1))),
            "the GPU instance (profile 9 at slice 0 of GPU-1) cannot be given to operation q: "
            "operation p holds GPU-1 (one of them needs the whole GPU)");
}

TEST_F(PlansTest, AreBlockedByThoseWhoOnlyLookAndByForeignInstances) {
  OfferAs(0, Via::kDra);
  Do(Claiming("a", {{Gpu(0), true}}));
  Do(Withdraw(state_, "p", {Gpu(0)}, At(1)));
  EXPECT_NE(Why(Lock(state_, "p")), "");
  testing::LayOut(machine_, 1, {{19, {0, 1}, {}}});
  Do(Observe(state_, machine_, std::set<model::InstanceKey>{}));
  Do(Withdraw(state_, "q", {Gpu(1)}, At(1)));
  EXPECT_NE(Why(Lock(state_, "q")).find("somebody else's GPU instance 1"), std::string::npos);
}

TEST_F(PlansTest, MakeAllTheyWorkedOnNew) {
  const Incarnation before = FindSeen(state_, Mig(0))->incarnation;
  const Incarnation beside = FindSeen(state_, Mig(1))->incarnation;
  Do(Withdraw(state_, "p", {AllOf(Mig(0))}, At(1)));
  Do(Lock(state_, "p"));
  Do(Observe(state_, machine_, {}));
  Do(EndPlan(state_, "p"));
  Do(Observe(state_, machine_, {}));
  EXPECT_NE(FindSeen(state_, Mig(0))->incarnation, before) << "same ids, same UUID, made anew";
  EXPECT_EQ(FindSeen(state_, Mig(1))->incarnation, beside);
}

TEST_F(PlansTest, OnOneComputeInstanceLeaveThoseBesideItAlone) {
  const Incarnation before = FindSeen(state_, Mig(0, 1))->incarnation;
  Do(Withdraw(state_, "p", {Mig(0, 0)}, At(1)));
  Do(Lock(state_, "p"));
  Do(EndPlan(state_, "p"));
  EXPECT_EQ(FindSeen(state_, Mig(0, 0)), nullptr);
  ASSERT_NE(FindSeen(state_, Mig(0, 1)), nullptr);
  EXPECT_EQ(FindSeen(state_, Mig(0, 1))->incarnation, before);
}

}  // namespace
}  // namespace partita::service::ledger
