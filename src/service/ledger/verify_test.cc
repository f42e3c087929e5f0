#include "service/ledger/verify.h"

#include "service/ledger/testing/verbs_fixture.h"

namespace partita::service::ledger {
namespace {

using testing::At;

class VerifyTest : public testing::VerbsTest {
 protected:
  VerifyTest() {
    state_.era.boot = "b-1";
    OfferAs(1, Via::kDra);
  }

  // "roll back u": what is found, in one line each.
  std::vector<std::string> After(const std::string& boot, const Asked& asked = {}) {
    const Verdict verdict = Verify(state_, machine_, boot, asked);
    for (const Change& change : verdict.changes) Apply(state_, change);
    std::vector<std::string> lines;
    for (const Finding& finding : verdict.findings)
      lines.push_back(std::string(ToString(finding.kind)) + " " + finding.name);
    return lines;
  }
  void Complete(const std::string& uid, const std::vector<Use>& uses) {
    const Receipt receipt = Do(Claiming(uid, uses));
    Do(CompleteClaim(state_, uid, receipt.attempt, uses, At(100)));
  }
  using Lines = std::vector<std::string>;
};

TEST_F(VerifyTest, FindsNothingWhereAllIsWell) {
  Complete("u", {{Mig(0)}});
  Do(Bind(state_, Gpu(0), train_, At(1)));
  EXPECT_TRUE(Verify(state_, machine_, "b-1", {}).changes.empty());
  EXPECT_EQ(After("b-1"), Lines());
}

TEST_F(VerifyTest, AfterACrashResumesTheStepsOfClaims) {
  Do(Claiming("started", {{Mig(0)}}));
  Complete("done", {{Mig(0, 1)}});
  Complete("leaving", {{Mig(1)}});
  Do(StartRelease(state_, "leaving", At(2)));
  EXPECT_EQ(After("b-1"), (Lines{"finish leaving", "roll back started"}));
  EXPECT_EQ(state_.claims.at("started").step, ClaimStep::kUnprepareStarted);
  EXPECT_EQ(StateOf(state_, Mig(0)), DeviceState::kHeld) << "until it is undone";
  Do(FinishRelease(state_, "started", At(3)));
}

TEST_F(VerifyTest, AfterACrashKeepsTheLockOfAnOperationThatHadBegun) {
  Do(Withdraw(state_, "begun", {Gpu(0)}, At(1)));
  Do(Lock(state_, "begun"));
  Do(Withdraw(state_, "waiting", {Gpu(1)}, At(1)));
  EXPECT_EQ(After("b-1"), (Lines{"interrupted begun", "drop waiting"}));
  EXPECT_EQ(StateOf(state_, Gpu(0)), DeviceState::kLocked);
  EXPECT_EQ(StateOf(state_, Gpu(1)), DeviceState::kFree);
}

TEST_F(VerifyTest, AfterACrashRollsBackAClaimWhoseDeviceIsAnotherByNow) {
  Complete("u", {{Mig(0)}});
  machine_.gpus[1].mig->instances[0].id = model::GpuInstanceId(5);
  EXPECT_EQ(After("b-1"), Lines{"roll back u"}) << "same place, same UUID, another incarnation";
}

TEST_F(VerifyTest, KeepsAClaimOnAGpuThatCannotBeRead) {
  Complete("u", {{Mig(0)}});
  machine_.gpus[1].mig->instances.clear();
  machine_.gpus[1].mig_error = base::Error(base::ErrorCode::kUnavailable, "GPU is lost");
  EXPECT_EQ(After("b-1"), Lines());
  machine_.gpus.pop_back();
  EXPECT_EQ(After("b-1"), Lines());
  EXPECT_EQ(state_.claims.at("u").step, ClaimStep::kPrepareCompleted);
}

TEST_F(VerifyTest, AfterARebootVoidsClaimsAndOperationsAndKeepsWhatPodsHold) {
  OfferAs(1, Via::kDevicePlugin);
  Do(Bind(state_, Mig(0), train_, At(1)));
  OfferAs(0, Via::kDra);
  Complete("u", {{Gpu(0)}});
  Do(Withdraw(state_, "p", {Mig(1)}, At(1)));
  Do(Lock(state_, "p"));
  const Incarnation before = FindSeen(state_, Mig(0))->incarnation;
  EXPECT_EQ(After("b-2"), (Lines{"drop u", "drop p"}));
  EXPECT_EQ(state_.era.boot, "b-2");
  EXPECT_TRUE(state_.claims.empty());
  EXPECT_TRUE(state_.plans.empty());
  ASSERT_EQ(state_.holds.size(), 1U);
  const Hold& hold = state_.holds.begin()->second;
  EXPECT_FALSE(hold.gone);
  EXPECT_NE(MigPart(hold.device)->incarnation, before) << "the same layout, made anew";
  EXPECT_EQ(MigPart(hold.device)->incarnation, FindSeen(state_, Mig(0))->incarnation);
}

TEST_F(VerifyTest, AfterARebootWithAnotherLayoutAPodsDeviceIsGone) {
  OfferAs(1, Via::kDevicePlugin);
  Do(Bind(state_, Mig(0), train_, At(1)));
  const std::string key = KeyOf(Mig(0));
  testing::LayOut(machine_, 1, {{14, {0, 2}, {{0, 2}}}});
  EXPECT_EQ(After("b-2"), Lines{"gone " + key});
  EXPECT_EQ(After("b-2"), Lines()) << "told once";
}

TEST_F(VerifyTest, ReportsForeignInstancesAndKeepsThem) {
  EXPECT_EQ(After("b-2", std::set<model::InstanceKey>{Mig(0).instance()}),
            Lines{"foreign GPU-1/19@4"});
}

TEST_F(VerifyTest, IsSettledByItsOwnChanges) {
  Do(Claiming("started", {{Mig(0)}}));
  After("b-2");
  EXPECT_TRUE(Verify(state_, machine_, "b-2", {}).changes.empty());
}

}  // namespace
}  // namespace partita::service::ledger
