#include "service/health/recovery_action.h"

#include <gtest/gtest.h>

#include "service/health/testing/rules.h"
#include "service/health/testing/ward.h"

namespace partita::service::health {
namespace {

using enum model::HealthState;
using testing::Fatal;
using testing::Ward;
using namespace std::chrono_literals;

constexpr std::uint32_t kNothing = 0, kReset = 1, kReboot = 2, kPeers = 3, kDrain = 4, kImex = 5;

// The fault of the XID, after a look.
Fault Judged(std::uint64_t xid, std::uint32_t action, const XidOptions& options = {}) {
  Ward ward;
  ward.options_ = options;
  ward.Xid(xid);
  ward.Ask(action);
  ward.After(10s);
  for (const Fault& fault : ward.health_.faults)
    if (fault.cause == Cause::kXid) return fault;
  return {};
}

TEST(RecoveryAction, StandsAboveThePreset) {
  for (const std::uint64_t xid : {48U, 81U, 94U, 95U, 4711U}) {
    for (const std::uint32_t action : {kReset, kDrain}) {
      EXPECT_EQ(Judged(xid, action).effect, Effect::kUnhealthy) << xid;
      EXPECT_EQ(Judged(xid, action).proof, Proof::kReset) << xid;
    }
    EXPECT_EQ(Judged(xid, kReboot).effect, Effect::kUnhealthy) << xid;
    EXPECT_EQ(Judged(xid, kReboot).proof, Proof::kFoundAnew) << xid;
    EXPECT_EQ(Judged(xid, kPeers).effect, Effect::kUnhealthyOnceIdle) << xid;
    for (const std::uint32_t action : {kNothing, kImex}) {
      EXPECT_EQ(Judged(xid, action).effect, Effect::kDegraded) << xid;
      EXPECT_EQ(Judged(xid, action).proof, Proof::kQuiet) << xid;
    }
  }
}

TEST(RecoveryAction, StandsAboveEveryPreset) {
  EXPECT_EQ(Judged(56, kNothing, {.preset = Preset::kReference}).effect, Effect::kDegraded);
  EXPECT_EQ(Judged(48, kNothing, {.preset = Preset::kGke}).effect, Effect::kDegraded);
}

TEST(RecoveryAction, SaysWhatAndWhatToDo) {
  EXPECT_EQ(Judged(95, kNothing).text,
            "XID 95, a memory error that was not contained, and the driver asks for nothing: watch "
            "whether it comes again");
  EXPECT_EQ(Judged(95, kReboot).text,
            "XID 95, a memory error that was not contained, and the driver asks for a reboot: "
            "drain the node, then reboot it");
}

TEST(RecoveryAction, StandsBelowWhatWasNamed) {
  XidOptions options;
  options.rules = {Fatal(95), {.xid = 94, .policy = config::XidPolicy::kIgnore}};
  EXPECT_EQ(Judged(95, kNothing, options).effect, Effect::kUnhealthy);
  EXPECT_EQ(Judged(94, kReset, options).xid, 0U);
  XidOptions variables;
  variables.overrides.fatal = {95};
  variables.overrides.ignored = {94};
  EXPECT_EQ(Judged(95, kNothing, variables).effect, Effect::kUnhealthy);
  EXPECT_EQ(Judged(94, kReset, variables).xid, 0U);
  // That is of the XID alone. What the driver asks for is a finding of its own, whose name is 154.
  for (const XidOptions& named : {options, variables}) {
    Ward ward;
    ward.options_ = named;
    ward.Xid(94);
    ward.After(10s);
    EXPECT_EQ(ward.State(), kHealthy);
    ward.Ask(kReset);
    ward.After(10s);
    EXPECT_EQ(ward.State(), kUnhealthy);
    EXPECT_EQ(ward.Reason(), "RecoveryAction");
    ward.options_.rules.push_back({.xid = 154, .policy = config::XidPolicy::kIgnore});
    ward.Live(5s);
    EXPECT_EQ(ward.State(), kHealthy);
  }
}

TEST(RecoveryAction, IsThePresetsWhereTheDriverKnowsNone) {
  Ward ward;
  ward.Xid(95);
  ward.Live(1h);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

// The driver tells the XID first: an answer of before, or of the same moment, is none to it.
TEST(RecoveryAction, HasTimeToBeAskedFor) {
  Ward ward;
  ward.Ask(kNothing);
  ward.After(1s);
  ward.Xid(95);
  EXPECT_EQ(ward.State(), kUnhealthy) << "at once";
  ward.After(9s);
  EXPECT_EQ(ward.State(), kUnhealthy);
  ward.Ask(kReset);
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

TEST(RecoveryAction, ThatIsNotAskedForLeavesTheDeviceInUse) {
  Ward ward;
  ward.Ask(kNothing);
  ward.Xid(95);
  ward.Live(12s);
  EXPECT_EQ(ward.State(), kDegraded);
  EXPECT_TRUE(ward.health_.recoveries.empty()) << "nothing was wrong: the next is no relapse";
  ward.Xid(95);
  EXPECT_EQ(ward.State(), kUnhealthy) << "each has its time";
  ward.Live(11min);
  EXPECT_EQ(ward.State(), kHealthy);
}

// XID 95 each time that it is back.
TEST(RecoveryAction, ThatIsNotAskedForAgainAndAgainIsARelapse) {
  Ward ward;
  ward.Ask(kNothing);
  const auto out = [&] {
    ward.Xid(95);
    EXPECT_EQ(ward.State(), kUnhealthy);
    const Time begin = ward.facts_.now;
    while (ward.State() != kDegraded) ward.Live(2s);
    const Time end = ward.facts_.now;
    ward.Live(10s);
    return end - begin;
  };
  EXPECT_EQ(out(), 10s);
  EXPECT_EQ(out(), 60s);
  EXPECT_EQ(out(), 120s);
  EXPECT_EQ(out(), 240s);
}

// 119 is excused by nobody: the part is out by it.
TEST(RecoveryAction, ThatIsNotAskedForBringsNobodyBackWhomAnotherFaultKeepsOut) {
  Ward ward;
  ward.Ask(kNothing);
  ward.Xid(95);
  ward.Xid(119);
  ward.Live(1min);
  ++ward.facts_.driver.module;
  ward.Live(5s);
  EXPECT_EQ(ward.State(), kDegraded);
  ward.Live(11min);
  EXPECT_TRUE(ward.health_.faults.empty());
  EXPECT_EQ(ward.health_.recoveries.size(), 1U) << "it came back once";
}

// Also where the one before was forgotten meanwhile.
TEST(RecoveryAction, ThatIsNotAskedForEveryElevenMinutesIsARelapse) {
  Ward ward;
  ward.Ask(kNothing);
  ward.Xid(95);
  ward.Live(11min);
  EXPECT_TRUE(ward.health_.faults.empty());
  ward.Xid(95);
  ward.Live(30s);
  EXPECT_EQ(ward.State(), kUnhealthy);
  ward.Live(40s);
  EXPECT_EQ(ward.State(), kDegraded);
}

TEST(RecoveryAction, ThatIsNotAskedForWhileItIsHeldBackBeginsTheTimeAnew) {
  Ward ward;
  ward.Ask(kNothing);
  for (int i = 0; i < 60; ++i) {
    ward.Xid(95);
    ward.Live(20s);
  }
  EXPECT_EQ(ward.State(), kUnhealthy);
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kDegraded);
}

TEST(RecoveryAction, ThatIsNotAskedForAfterSeveralAtOnceIsNoRelapse) {
  Ward ward;
  ward.Ask(kNothing);
  for (int i = 0; i < 3; ++i) ward.Xid(95);
  ward.Live(12s);
  EXPECT_EQ(ward.State(), kDegraded);
  EXPECT_TRUE(ward.health_.recoveries.empty());
}

// "Nothing" after a wish is that it was done, not that there was none.
TEST(RecoveryAction, ThatIsAskedForNoMoreIsProof) {
  Ward ward;
  ward.Xid(95);
  ward.Ask(kReset);
  ward.Live(1min);
  ward.Ask(kNothing);
  ward.After(1s);
  EXPECT_EQ(ward.State(), kRecovering);
  ward.Live(3s);
  EXPECT_EQ(ward.State(), kHealthy);
}

TEST(RecoveryAction, OfADriverThatHasLostTheGpuExcusesNothing) {
  for (const std::uint64_t xid : {79U, 119U, 120U}) {
    EXPECT_EQ(Judged(xid, kNothing).effect, Effect::kUnhealthy) << xid;
    EXPECT_EQ(Judged(xid, kReset).proof, Proof::kReset) << xid;
  }
}

TEST(RecoveryAction, IsNotFollowedWhereItsOwnXidIsDisabled) {
  XidOptions options;
  options.rules = {{.xid = 154, .policy = config::XidPolicy::kIgnore}};
  Ward ward;
  ward.options_ = options;
  ward.Ask(kReset);
  ward.After(1s);
  EXPECT_EQ(ward.State(), kHealthy);
  EXPECT_EQ(Judged(95, kNothing, options).effect, Effect::kUnhealthy);
  XidOptions variable;
  variable.overrides.ignored = {154};
  EXPECT_FALSE(FollowsDriver(variable));
  EXPECT_TRUE(FollowsDriver({}));
  variable.overrides = {.disable_all = true, .ignored = {}, .enable_all = false, .fatal = {}};
  EXPECT_FALSE(FollowsDriver(variable));
}

// It took the GPU out while it was followed.
TEST(RecoveryAction, ThatIsFollowedNoMoreKeepsNobodyOut) {
  Ward ward;
  ward.Ask(kReset);
  ward.After(1s);
  EXPECT_EQ(ward.Reason(), "RecoveryAction");
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kUnhealthy);
  ward.options_.rules = {{.xid = 154, .policy = config::XidPolicy::kIgnore}};
  ward.Live(5s);
  EXPECT_EQ(ward.State(), kHealthy);
}

TEST(RecoveryAction, ThatIsNotFollowedKeepsNoGpuOutThatWasLostOrHung) {
  for (const model::FaultKind kind : {model::FaultKind::kLost, model::FaultKind::kHung}) {
    Ward ward;
    ward.options_.overrides.disable_all = true;
    ward.Show(kind);
    ward.After(1s);
    EXPECT_EQ(ward.State(), kUnhealthy);
    ward.Ask(kReset);
    ward.Live(8s);
    EXPECT_EQ(ward.State(), kHealthy);
  }
}

// Nor is it the proof of a reset that nobody made.
TEST(RecoveryAction, ThatIsNotFollowedProvesNothingBeforeItEnds) {
  Ward ward;
  ward.options_.rules = {Fatal(95), {.xid = 154, .policy = config::XidPolicy::kIgnore}};
  ward.Xid(95);
  ward.Ask(kReset);
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kUnhealthy);
  ward.Ask(kNothing);
  ward.Live(5s);
  EXPECT_EQ(ward.State(), kHealthy);
}

TEST(RecoveryAction, ThatIsFollowedNoMoreMakesNothingWorseThanThePreset) {
  Ward ward;
  ward.Xid(94);
  ward.Ask(kReset);
  ward.Live(10s);
  EXPECT_EQ(ward.Reason(), "XidCritical");
  ward.SetRules({{.xid = 154, .policy = config::XidPolicy::kIgnore}});
  ward.Live(5s);
  EXPECT_EQ(ward.State(), kDegraded);
}

}  // namespace
}  // namespace partita::service::health
