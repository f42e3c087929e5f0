#include "service/ledger/claims.h"

#include "service/ledger/testing/verbs_fixture.h"

namespace partita::service::ledger {
namespace {

using testing::At;

class ClaimsTest : public testing::VerbsTest {
 protected:
  ClaimsTest() { OfferAs(1, Via::kDra); }
};

TEST_F(ClaimsTest, GoThroughTheirSteps) {
  const Receipt started = Do(Claiming("u", {{Mig(0)}}));
  EXPECT_EQ(StateOf(state_, Mig(0)), DeviceState::kReserved);
  Do(CompleteClaim(state_, "u", started.attempt, {{Mig(0)}}, At(101)));
  EXPECT_EQ(StateOf(state_, Mig(0)), DeviceState::kHeld);
  EXPECT_EQ(Do(StartRelease(state_, "u", At(102))).step, ClaimStep::kUnprepareStarted);
  EXPECT_EQ(StateOf(state_, Mig(0)), DeviceState::kHeld) << "until everything is undone";
  Do(FinishRelease(state_, "u", At(103)));
  EXPECT_EQ(StateOf(state_, Mig(0)), DeviceState::kFree);
  EXPECT_FALSE(Do(StartRelease(state_, "u", At(104))).step);
  EXPECT_TRUE(Sweep(state_, At(103 + 599)).changes.empty());
  Do(Sweep(state_, At(103 + 600)));
  EXPECT_TRUE(state_.claims.empty());
}

TEST_F(ClaimsTest, ChangeNothingWithoutBeingDurable) {
  const base::Result<Decision> decision = Claiming("u", {{Mig(0)}});
  ASSERT_TRUE(decision.ok());
  EXPECT_TRUE(decision->durable);
  EXPECT_TRUE(StartRelease(state_, "u", At(1)).durable);
}

TEST_F(ClaimsTest, AskedAgainAreWhereTheyAre) {
  const Receipt first = Do(Claiming("u", {{Mig(0)}}));
  const base::Result<Decision> again = Claiming("u", {{Mig(0)}});
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->changes.empty());
  EXPECT_EQ(again->receipt.attempt, first.attempt);
  EXPECT_EQ(again->receipt.step, ClaimStep::kPrepareStarted);
  EXPECT_EQ(Why(Claiming("u", {{Mig(1)}})), "claim default/cu (u) holds other devices already");
}

TEST_F(ClaimsTest, OvertakenByTheirReleaseDoNotComeBack) {
  const Receipt late = Do(Claiming("u", {{Mig(0)}}, 100));
  Do(StartRelease(state_, "u", At(110)));
  EXPECT_EQ(Why(Claiming("u", {{Mig(0)}}, 111)), "claim default/cu (u) is being released");
  Do(FinishRelease(state_, "u", At(120)));
  const std::string overtaken =
      "this prepare of claim default/cu (u) was overtaken by the claim's release";
  EXPECT_EQ(Why(CompleteClaim(state_, "u", late.attempt, {{Mig(0)}}, At(121))), overtaken);
  EXPECT_EQ(Why(Claiming("u", {{Mig(0)}}, 120)), overtaken) << "it came in before the release";
  const Receipt fresh = Do(Claiming("u", {{Mig(0)}}, 121));
  EXPECT_EQ(Why(CompleteClaim(state_, "u", late.attempt, {{Mig(0)}}, At(122))), overtaken);
  Do(CompleteClaim(state_, "u", fresh.attempt, {{Mig(0)}}, At(122)));
}

TEST_F(ClaimsTest, AreRefusedWithTheHoldersName) {
  Do(Claiming("u", {{Mig(0)}}));
  const base::Result<Decision> refused = Claiming("v", {{Mig(1)}, {Gpu(1)}});
  EXPECT_EQ(Why(refused),
            "GPU-1 cannot be given to claim default/cv (v): claim default/cu (u) holds MIG-1-1-0 "
            "(profile 9 at slice 0 of GPU-1) (one of them needs the whole GPU)");
  EXPECT_EQ(refused.error().hint(), "delete the pods that use the claim");
  EXPECT_EQ(Why(Claiming("v", {{Gpu(0)}})), "GPU-0 is offered by device-plugin, not by dra");
  EXPECT_NE(Why(Claiming("v", {{Mig(1)}, {Mig(1)}})), "") << "one device twice in a claim";
}

TEST_F(ClaimsTest, TakeSlicesOfADeviceStillToBeMade) {
  const MigDevice wanted{Gpu(1), model::ProfileId(14), {6, 2}, {0, 2}};
  const Receipt receipt = Do(Claiming("u", {{wanted}}));
  const MigDevice in_the_way{Gpu(1), model::ProfileId(19), {7, 1}, {0, 1}};
  EXPECT_NE(Why(Claiming("v", {{in_the_way}})), "");
  testing::LayOut(machine_, 1,
                  {{9, {0, 4}, {{0, 2}, {2, 1}}}, {19, {4, 1}, {{0, 1}}}, {14, {6, 2}, {{0, 2}}}});
  Do(Observe(state_, machine_, std::set<model::InstanceKey>{}));
  EXPECT_FALSE(state_.instances.at("GPU-1/14@6").foreign) << "the claim made it";
  Do(CompleteClaim(state_, "u", receipt.attempt, {{Mig(2)}}, At(101)));
  EXPECT_NE(MigPart(state_.claims.at("u").uses[0].device)->incarnation, Incarnation(0));
}

TEST_F(ClaimsTest, WithAdminAccessStandBesideHolders) {
  Do(Reserve(state_, {pod_, {Gpu(0)}}, At(1)));
  Do(Claiming("a", {{Gpu(0), true}}));
  EXPECT_EQ(StateOf(state_, Gpu(0)), DeviceState::kReserved);
  Do(Reserve(state_, {pod_, {Gpu(0)}}, At(2)));
}

TEST_F(ClaimsTest, WithAdminAccessToVfioAreRefused) {
  machine_.vfio = {{{0, 9, 0, 0}, 0, {}, 4}};
  Do(Observe(state_, machine_, {}));
  const base::Result<Decision> refused = Claiming("a", {{VfioDevice{{0, 9, 0, 0}}, true}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), base::ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace partita::service::ledger
