#include "service/health/changes.h"

#include <gtest/gtest.h>

#include "service/health/codec.h"
#include "service/health/testing/rules.h"
#include "service/health/testing/ward.h"

namespace partita::service::health {
namespace {

using enum model::HealthState;
using model::FaultKind;
using testing::Fatal;
using testing::kFirst;
using testing::kSecond;
using testing::Ward;
using namespace std::chrono_literals;

// Scope.

TEST(Health, AnXidOfTheGpuTakesAllOfIt) {
  Ward ward;
  ward.Xid(95);
  EXPECT_EQ(ward.State(), kUnhealthy);
  EXPECT_EQ(ward.State(Ward::Device(1, 0)), kUnhealthy);
  EXPECT_EQ(ward.State({.gpu = kSecond}), kHealthy);
  EXPECT_EQ(ward.Reason(), "XidCritical");
}

TEST(Health, AnXidOfAGpuInstanceTakesItsDevicesAlone) {
  Ward ward;
  ward.Xid(95, Ward::Instance(1));
  EXPECT_EQ(ward.State(Ward::Device(1, 0)), kUnhealthy);
  EXPECT_EQ(ward.State(Ward::Device(1, 1)), kUnhealthy);
  EXPECT_EQ(ward.State(Ward::Device(2, 0)), kHealthy);
  EXPECT_EQ(ward.State(), kHealthy);
}

TEST(Health, AnXidOfAMigDeviceTakesItAlone) {
  Ward ward;
  ward.Xid(95, Ward::Device(1, 0));
  EXPECT_EQ(ward.State(Ward::Device(1, 0)), kUnhealthy);
  EXPECT_EQ(ward.State(Ward::Device(1, 1)), kHealthy);
  EXPECT_EQ(ward.State(Ward::Device(2, 0)), kHealthy);
}

// What an XID does.

TEST(Health, ApplicationsErrorsChangeNothing) {
  Ward ward;
  for (const std::uint64_t xid : {13U, 31U, 43U, 45U, 37U}) ward.Xid(xid);
  EXPECT_EQ(ward.State(), kHealthy);
  EXPECT_EQ(ward.Next(), std::nullopt);
  EXPECT_EQ(ward.health_, Health()) << "a storm of them writes nothing";
}

TEST(Health, ADeviceEventDegradesForTenQuietMinutes) {
  Ward ward;
  ward.Xid(92);
  EXPECT_EQ(ward.State(), kDegraded);
  ward.Live(599s);
  EXPECT_EQ(ward.State(), kDegraded);
  ward.Xid(92);
  ward.Live(599s);
  EXPECT_EQ(ward.State(), kDegraded);
  EXPECT_EQ(ward.health_.faults.front().count, 2U);
  ward.Live(1s);
  EXPECT_EQ(ward.State(), kHealthy);
  EXPECT_TRUE(ward.health_.recoveries.empty());
}

TEST(Health, ADegradedGpuWithARemapPendingStaysSo) {
  Ward ward;
  ward.Xid(63);
  ward.gpu().remap_pending = true;
  ward.Live(11min);
  EXPECT_EQ(ward.State(), kDegraded);
  ward.gpu().remap_pending = false;
  ward.Live(1s);
  EXPECT_EQ(ward.State(), kHealthy);
}

// What ten quiet minutes do not end is looked at now and then, not all the time.
TEST(Health, ARemapThatStaysPendingIsLookedAtEachHalfMinute) {
  for (const std::uint64_t xid : {63U, 94U}) {
    Ward ward;
    ward.Xid(xid);
    ward.gpu().remap_pending = true;
    EXPECT_EQ(ward.Next(), 10min) << xid;
    ward.Live(11min);
    EXPECT_EQ(ward.Next(), 30s) << xid;
  }
}

TEST(Health, ADegradedGpuThatIsNotAskedIsLookedAtAsOneThatIsOut) {
  Ward ward;
  ward.Xid(79);
  ward.Xid(74);
  ward.Show(FaultKind::kLost);
  ward.Live(11min);
  EXPECT_EQ(ward.Next(), 2s);
}

TEST(Health, ADegradedGpuWhoseDriverWentIsLookedAtEachHalfMinute) {
  for (const bool given_away : {false, true}) {
    Ward ward;
    ward.Xid(92);
    if (given_away)
      ward.gpu().given_away = true;
    else
      ward.facts_.gpus.clear();
    ward.Live(11min);
    EXPECT_EQ(ward.State(), kDegraded);
    EXPECT_EQ(ward.Next(), 30s);
  }
}

TEST(Health, ThreeTimeoutsOfAContextSwitchAreAReset) {
  Ward ward;
  ward.Xid(109);
  ward.After(4min);
  ward.Xid(109);
  EXPECT_EQ(ward.State(), kHealthy);
  ward.After(4min);
  ward.Xid(109);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

TEST(Health, ThreeTimeoutsInALongTimeAreNot) {
  Ward ward;
  for (int i = 0; i < 5; ++i) {
    ward.Xid(109);
    ward.After(6min);
  }
  EXPECT_EQ(ward.State(), kHealthy);
}

TEST(Health, TimeoutsOfTwoDevicesDoNotAddUp) {
  Ward ward;
  ward.Xid(109, Ward::Device(1, 0));
  ward.Xid(109, Ward::Device(1, 0));
  ward.Xid(109, Ward::Device(2, 0));
  EXPECT_EQ(ward.State(Ward::Device(1, 0)), kHealthy);
  EXPECT_EQ(ward.State(Ward::Device(2, 0)), kHealthy);
}

TEST(Health, AContainedMemoryErrorOnlyDegrades) {
  Ward ward;
  ward.Xid(48);
  EXPECT_EQ(ward.State(), kUnhealthy) << "at once: nobody knows yet";
  ward.After(10s);
  ward.Xid(94);
  EXPECT_EQ(ward.State(), kDegraded);
  Ward other_order;
  other_order.Xid(94);
  other_order.After(10s);
  other_order.Xid(48);
  EXPECT_EQ(other_order.State(), kDegraded);
}

TEST(Health, AContainedErrorLongAfterIsAnother) {
  Ward ward;
  ward.Xid(48);
  ward.After(11s);
  ward.Xid(94);
  EXPECT_EQ(ward.State(), kUnhealthy);
  Ward elsewhere;
  elsewhere.Xid(48);
  elsewhere.Xid(94, {.gpu = kSecond});
  EXPECT_EQ(elsewhere.State(), kUnhealthy);
}

TEST(Health, ADoubleBitErrorThatAnOperatorMadeFatalIsSoAlsoWhenContained) {
  Ward ward;
  ward.options_.rules = {Fatal(48)};
  ward.Xid(48);
  ward.Xid(94);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

TEST(Health, ARetirementWaitsUntilTheGpuIsIdle) {
  Ward ward;
  ward.Run(7);
  ward.Xid(156);
  ward.Live(5min);
  EXPECT_EQ(ward.State(), kDegraded);
  ward.gpu().running->clear();
  ward.Live(30s);
  EXPECT_EQ(ward.State(), kUnhealthy);
  // Whoever comes nevertheless does not make it well.
  ward.Run(8);
  ward.Live(5min);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

TEST(Health, ARuleThatIsGoneLeavesNoVerdict) {
  Ward ward;
  ward.SetRules({Fatal(92)});
  ward.Xid(92);
  EXPECT_EQ(ward.State(), kUnhealthy);
  ward.health_ = Decode(Encode(ward.health_, "boot"), "boot").value();
  ward.SetRules({});
  EXPECT_EQ(ward.State(), kDegraded);
  // And the other way round.
  Ward milder;
  milder.SetRules({{.xid = 95, .policy = config::XidPolicy::kEvent}});
  milder.Xid(95);
  EXPECT_EQ(milder.State(), kDegraded);
  milder.SetRules({});
  EXPECT_EQ(milder.State(), kUnhealthy);
}

TEST(Health, AStormOfXidsDoesNotFillMemory) {
  Ward ward;
  for (int i = 0; i < 1000; ++i) {
    ward.Xid(109);
    ward.facts_.now += 1ms;
  }
  EXPECT_EQ(ward.health_.heard.size(), 256U);
  EXPECT_EQ(ward.health_.heard.back().at, ward.facts_.now - 1ms) << "the latest";
  Ward contained;  // out, and back, again and again
  for (int i = 0; i < 100; ++i) {
    contained.Xid(48);
    contained.Xid(94);
    contained.facts_.now += 11s;
  }
  EXPECT_EQ(contained.health_.recoveries.size(), 16U);
}

// How long it is held back.

TEST(Health, WhatOnlyEverDegradedIsNoRelapse) {
  Ward ward;
  ward.Xid(94);
  ward.Xid(48);
  ward.Live(5min);
  EXPECT_EQ(ward.State(), kDegraded);
  ward.Xid(48);
  EXPECT_EQ(ward.State(), kUnhealthy);
  ++ward.facts_.driver.module;
  ward.Live(5s);
  EXPECT_EQ(ward.State(), kDegraded) << "94 is quiet for ten minutes first";
}

TEST(Health, ARelapseIsHeldBackLongerEachTime) {
  Ward ward;
  const auto held = [&] {
    ward.Xid(95);
    ward.After(1s);
    ++ward.facts_.driver.module;
    ward.After(1s);
    const Time begin = ward.facts_.now;
    while (ward.State() != kHealthy) ward.Live(1s);
    return ward.facts_.now - begin;
  };
  EXPECT_EQ(held(), 3s);
  EXPECT_EQ(held(), 60s);
  EXPECT_EQ(held(), 120s);
  EXPECT_EQ(held(), 240s);
  for (int i = 0; i < 5; ++i) (void)held();
  EXPECT_EQ(held(), 1h);
  ward.Live(25h);
  EXPECT_EQ(held(), 3s);
}

TEST(Health, ANeighboursRelapseCountsForItAlone) {
  Ward ward;
  ward.options_.rules = {Fatal(31)};
  ward.Xid(31, Ward::Device(1, 0));
  ward.Live(5s);
  EXPECT_EQ(ward.State(Ward::Device(1, 0)), kHealthy);
  ward.Xid(31, Ward::Device(2, 0));
  ward.Live(5s);
  EXPECT_EQ(ward.State(Ward::Device(2, 0)), kHealthy);
}

// It was out all the time: that it comes back at last is no relapse.
TEST(Health, WhatEndsWhileAnotherFaultKeepsThePartOutIsNoRecovery) {
  Ward ward;
  ward.options_.rules = {Fatal(31)};
  ward.Xid(31);
  ward.Xid(95);
  ward.Live(10s);
  ASSERT_EQ(ward.health_.faults.size(), 1U) << "who ran there is gone: 31 is over";
  EXPECT_TRUE(ward.health_.recoveries.empty());
  ++ward.facts_.driver.module;
  ward.Live(5s);
  EXPECT_EQ(ward.State(), kHealthy);
  EXPECT_EQ(ward.health_.recoveries.size(), 1U);
}

TEST(Health, WhatEndsInsideAPartThatIsOutIsNoRecovery) {
  const auto recoveries = [](const Part& ends, const Part& stays) {
    Ward ward;
    ward.options_.rules = {Fatal(31)};
    ward.Xid(31, ends);
    ward.Xid(95, stays);
    ward.Live(10s);
    EXPECT_EQ(ward.health_.faults.size(), 1U);
    return ward.health_.recoveries.size();
  };
  const Part device = Ward::Device(1, 0);
  EXPECT_EQ(recoveries(device, Ward::Gpu()), 0U);
  EXPECT_EQ(recoveries(device, Ward::Instance(1)), 0U);
  EXPECT_EQ(recoveries(device, Ward::Device(1, 1)), 1U);
  EXPECT_EQ(recoveries(device, Ward::Instance(2)), 1U);
  EXPECT_EQ(recoveries(device, {.gpu = kSecond}), 1U);
  EXPECT_EQ(recoveries(Ward::Gpu(), device), 1U) << "all else on it is back";
}

TEST(Health, WhatIsOnlyDegradedKeepsNobodyOut) {
  Ward ward;
  ward.options_.rules = {Fatal(31)};
  ward.Xid(31);
  ward.Xid(92);
  ward.Live(10s);
  EXPECT_EQ(ward.State(), kDegraded);
  EXPECT_EQ(ward.health_.recoveries.size(), 1U);
}

// 94 says so of 48. The part is out by 95.
TEST(Health, WhatWasContainedBesideWhatWasNotIsNoRecovery) {
  Ward ward;
  for (const std::uint64_t xid : {95U, 48U, 94U}) ward.Xid(xid);
  ward.Live(1min);
  ++ward.facts_.driver.module;
  ward.Live(5s);
  EXPECT_EQ(ward.State(), kDegraded);
  ward.Live(11min);
  EXPECT_TRUE(ward.health_.faults.empty());
  EXPECT_EQ(ward.health_.recoveries.size(), 1U) << "it came back once";
}

TEST(Health, ATimeThatTheOperatorSetEndsIt) {
  Ward ward;
  ward.options_.rules = {Fatal(95)};
  ward.options_.rules.back().clear_after = 30s;
  ward.Xid(95);
  ward.Live(29s);
  EXPECT_EQ(ward.State(), kUnhealthy);
  ward.Live(1s);
  EXPECT_EQ(ward.State(), kHealthy);
}

TEST(Health, AnOperatorClearsWhatHeMeans) {
  Ward ward;
  ward.Xid(95, Ward::Device(1, 0));
  ward.Xid(95, Ward::Device(2, 0));
  ward.health_ = Clear(ward.health_, [](const Part& part) { return part == Ward::Device(1, 0); });
  EXPECT_EQ(ward.State(Ward::Device(1, 0)), kHealthy);
  EXPECT_EQ(ward.State(Ward::Device(2, 0)), kUnhealthy);
}

TEST(Health, WhatALookStillFindsIsNotCleared) {
  Ward ward;
  ward.Show(FaultKind::kLost);
  ward.After(1s);
  ward.health_ = Clear(ward.health_, [](const Part&) { return true; });
  ward.After(1s);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

TEST(Health, OtherRulesEndWhatTheyDoNotMind) {
  Ward ward;
  ward.options_.rules = {Fatal(31)};
  ward.Run(7);
  ward.Xid(31);
  for (int i = 0; i < 3; ++i) ward.Xid(109, {.gpu = kSecond});
  ward.Show(FaultKind::kLost);
  ward.After(1s);
  ward.health_ = OnOptions(ward.health_, {});
  EXPECT_EQ(ward.Reason(), "GpuLost");
  EXPECT_EQ(ward.health_.faults.size(), 2U);
  EXPECT_EQ(ward.State({.gpu = kSecond}), kUnhealthy) << "three of them are bad by the table";
}

TEST(Health, OtherRulesJudgeAnewWhatTheyName) {
  Ward ward;
  ward.Xid(95);
  ward.Xid(94, {.gpu = kSecond});
  ward.After(1s);
  ward.SetRules({{.xid = 95, .policy = config::XidPolicy::kEvent}, Fatal(94)});
  EXPECT_EQ(ward.State(), kDegraded);
  EXPECT_EQ(ward.State({.gpu = kSecond}), kUnhealthy);
  EXPECT_EQ(ward.health_.faults[0].text,
            "XID 95, a memory error that was not contained: watch whether it comes again");
  ward.Live(10min);
  EXPECT_EQ(ward.State(), kHealthy);
  EXPECT_EQ(ward.State({.gpu = kSecond}), kUnhealthy) << "quiet proves nothing any more";
}

TEST(Health, ATimeThatTheOperatorSetsLaterEndsWhatIsThere) {
  Ward ward;
  ward.Xid(95);
  ward.Live(20s);
  ward.SetRules({Fatal(95, 30s)});
  EXPECT_EQ(ward.State(), kUnhealthy);
  ward.Live(10s);
  EXPECT_EQ(ward.State(), kHealthy);
}

TEST(Health, ATimeThatTheOperatorTakesBackEndsNothing) {
  Ward ward;
  ward.options_.rules = {Fatal(95, 30s)};
  ward.Xid(95);
  ward.SetRules({});
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

TEST(Health, OtherRulesLeaveAloneWhatTheyDoNotName) {
  Ward ward;
  ward.Xid(48);
  ward.Xid(94);  // it was contained
  ward.Xid(95, {.gpu = kSecond});
  ++ward.facts_.driver.module;
  ward.After(2s);
  EXPECT_EQ(ward.State({.gpu = kSecond}), kRecovering);
  const Health before = ward.health_;
  ward.SetRules({Fatal(31)});
  EXPECT_EQ(ward.health_, before);
}

// Told of them again, which happens at each start and each change of another key.
TEST(Health, TheSameRulesChangeNothing) {
  Ward ward;
  ward.options_.rules = {Fatal(95, 1h), {.xid = 92, .policy = config::XidPolicy::kEvent}};
  for (const std::uint64_t xid : {48U, 92U, 94U, 95U}) ward.Xid(xid);
  ++ward.facts_.driver.module;
  ward.After(2s);
  const Health before = ward.health_;
  ward.SetRules(ward.options_.rules);
  EXPECT_EQ(ward.health_, before);
}

TEST(Health, WithoutEventsAGpuIsUnmonitored) {
  Ward ward;
  ward.health_ = OnMonitoring(ward.health_, {kFirst});
  EXPECT_EQ(ward.State(), kUnmonitored);
  EXPECT_EQ(ward.State({.gpu = kSecond}), kHealthy);
  EXPECT_EQ(ward.Next(), std::nullopt);
  ward.health_ = OnMonitoring(ward.health_, {});
  EXPECT_EQ(ward.State(), kHealthy);
}

TEST(Transitions, TellEachChangeOnce) {
  Ward ward;
  const auto now = [&] { return Summary(ward.health_, ward.facts_.now); };
  const model::NodeHealth well = now();
  ward.Xid(95);
  const model::NodeHealth ill = now();
  auto told = Transitions(well, ill);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].now.state, kUnhealthy);
  EXPECT_EQ(told[0].before, kHealthy);
  ward.Xid(95);
  EXPECT_TRUE(Transitions(ill, now()).empty());
  told = Transitions(ill, well);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].now.state, kHealthy);
  EXPECT_EQ(told[0].now.reason, "XidCritical");
}

}  // namespace
}  // namespace partita::service::health
