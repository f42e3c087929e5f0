#include "service/health/proof.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "service/health/testing/rules.h"
#include "service/health/testing/ward.h"

namespace partita::service::health {
namespace {

using enum model::HealthState;
using model::FaultKind;
using testing::Fatal;
using testing::kSecond;
using testing::Ward;
using namespace std::chrono_literals;

// What ends it.

TEST(Health, AnAnswerAloneProvesNothing) {
  Ward ward;
  ward.Xid(95);
  ward.Live(2h);
  EXPECT_EQ(ward.State(), kUnhealthy);
  EXPECT_EQ(ward.Next(), 2s);
}

TEST(Health, AnotherLoadOfTheDriverEndsAReset) {
  Ward ward;
  ward.Xid(95);
  ward.Live(10s);
  ++ward.facts_.driver.module;
  ward.After(2s);
  EXPECT_EQ(ward.State(), kRecovering);
  ward.Live(3s);
  EXPECT_EQ(ward.State(), kHealthy);
}

TEST(Health, ADriverThatWentAwayUnderUsIsAnotherLoad) {
  Ward ward;
  ward.Xid(95);
  ++ward.facts_.driver.cut_off;
  ward.Live(5s);
  EXPECT_EQ(ward.State(), kHealthy);
}

TEST(Health, AModuleThatCannotBeSeenIsNoOther) {
  Ward ward;
  ward.Xid(95);
  ward.facts_.driver.module = 0;
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

TEST(Health, TheDriverAskingNoMoreEndsAReset) {
  Ward ward;
  ward.Xid(95);
  ward.Ask(1);
  ward.Live(10s);
  EXPECT_EQ(ward.State(), kUnhealthy);
  ward.Ask(0);
  ward.Live(5s);
  EXPECT_EQ(ward.State(), kHealthy);
}

// The wish is a fault of the GPU, which hides from who asks for the worst that the slice's own has
// ended.
TEST(Health, ASlicesFaultIsNotOverWhileTheDriverAsksForAReset) {
  Ward ward;
  ward.LayOut({{1, 19, 0}});
  ward.Xid(95, Ward::Instance(1));
  ++ward.facts_.driver.module;
  ward.Ask(1);
  ward.Live(1min);
  const auto out = [&ward] {
    const model::NodeHealth health = Summary(ward.health_, ward.facts_.now);
    return std::count_if(health.parts.begin(), health.parts.end(),
                         [](const model::PartHealth& part) { return part.gpu_instance; });
  };
  EXPECT_EQ(out(), 1);
  ward.Ask(0);
  ward.Live(5s);
  EXPECT_EQ(out(), 0);
  EXPECT_EQ(ward.State(), kHealthy);
}

TEST(Health, ADriverThatStillAsksKeepsItOut) {
  Ward ward;
  ward.Xid(95);
  ++ward.facts_.driver.module;
  ward.Ask(4);
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

TEST(Health, ARemapThatIsStillPendingKeepsItOut) {
  Ward ward;
  ward.Xid(95);
  ++ward.facts_.driver.module;
  ward.gpu().remap_pending = true;
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

TEST(Health, ACounterThatBeganAnewEndsAReset) {
  Ward ward;
  ward.gpu().errors = 2;
  ward.Xid(48);
  ward.Live(10s);
  EXPECT_EQ(ward.State(), kUnhealthy);
  ward.gpu().errors = 0;
  ward.Live(5s);
  EXPECT_EQ(ward.State(), kHealthy);
}

TEST(Health, AnOlderLookProvesNothing) {
  Ward ward;
  ward.After(1s);
  ward.Xid(95);
  ++ward.facts_.driver.module;
  // It has not answered since.
  ward.LookAtWhatIsKnown();
  EXPECT_EQ(ward.State(), kUnhealthy);
  ward.After(1s);
  EXPECT_EQ(ward.State(), kRecovering);
}

// It asked before, was reset, and has another XID before anybody looked.
TEST(Health, AWishFromBeforeIsNoneOfThisFaults) {
  for (const bool wish : {false, true}) {
    Ward ward;
    ward.options_.rules = {Fatal(95)};
    if (wish)
      ward.Ask(1);
    else
      ward.Show(FaultKind::kResetRequired);
    ward.After(1s);
    ward.facts_.now += 1s;
    ward.Xid(95);
    ward.LookAtWhatIsKnown();
    ward.ShowNothing();
    ward.gpu().recovery_action = wish ? std::optional(0U) : std::nullopt;
    ward.Live(1min);
    EXPECT_EQ(ward.State(), kUnhealthy);
    EXPECT_EQ(ward.Reason(), "XidCritical");
  }
}

TEST(Health, ALossFromBeforeIsNoneOfThisFaults) {
  Ward ward;
  ward.Show(FaultKind::kLost);
  ward.After(1s);
  ward.facts_.now += 1s;
  ward.Xid(79);
  ward.LookAtWhatIsKnown();
  ward.ShowNothing();
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

// The bus is read at the moment of the XID, and may answer again before anybody looks.
TEST(Health, WhatTheBusTellsAtOnceCounts) {
  Ward ward;
  ward.Xid(79);
  ward.gpu().off_the_bus = true;
  ward.Show(FaultKind::kLost);
  ward.LookAtWhatIsKnown();
  ward.gpu().off_the_bus = false;
  ward.ShowNothing();
  ward.Live(5s);
  EXPECT_EQ(ward.State(), kHealthy);
}

// Since another load of the driver its counter says nothing of the one before.
TEST(Health, ACounterOfAnotherLoadIsNotOfTheFault) {
  Ward ward;
  ward.gpu().errors = 3;
  ward.gpu().remap_pending = true;
  ward.Xid(48);
  ++ward.facts_.driver.module;
  ward.After(2s);
  EXPECT_EQ(ward.health_.faults.at(0).errors, std::nullopt);
}

TEST(Health, OffTheBusEndsWhenItIsFoundAnew) {
  Ward ward;
  ward.Xid(79);
  ward.Show(FaultKind::kLost);
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kUnhealthy);
  ward.ShowNothing();
  ward.Live(5s);
  EXPECT_EQ(ward.State(), kHealthy);
}

TEST(Health, OffTheBusDoesNotEndByTheDriversWishes) {
  Ward ward;
  ward.Xid(79);
  ward.Ask(2);
  ward.Live(10s);
  ward.Ask(0);
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

TEST(Health, ABoardToReplaceIsNotBackInThisBoot) {
  Ward ward;
  ward.Xid(54);
  ++ward.facts_.driver.module;
  ward.Show(FaultKind::kLost);
  ward.Live(10s);
  ward.ShowNothing();
  ward.Live(24h);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

TEST(Health, AHangEndsAfterThreeLooksWithinFiveSeconds) {
  Ward ward;
  ward.Show(FaultKind::kHung);
  ward.After(0s);
  EXPECT_EQ(ward.State(), kUnhealthy);
  EXPECT_EQ(ward.Reason(), "DriverHung");
  ward.Live(30s);
  ward.ShowNothing();
  ward.After(1s);
  ward.After(1s);
  EXPECT_EQ(ward.State(), kUnhealthy) << "two looks";
  ward.After(1s);
  EXPECT_EQ(ward.State(), kRecovering);
  ward.After(1s);
  EXPECT_EQ(ward.State(), kHealthy) << "held back since the first of them";
}

TEST(Health, AHangThatComesBackBeginsAnew) {
  Ward ward;
  ward.Show(FaultKind::kHung);
  ward.After(0s);
  ward.ShowNothing();
  ward.After(1s);
  ward.After(1s);
  ward.Show(FaultKind::kHung);
  ward.After(1s);
  ward.ShowNothing();
  ward.After(1s);
  ward.After(1s);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

TEST(Health, WhatALookFindsEndsWithIt) {
  for (const FaultKind kind :
       {FaultKind::kLost, FaultKind::kResetRequired, FaultKind::kRemapFailed}) {
    Ward ward;
    ward.Show(kind);
    ward.After(1s);
    EXPECT_EQ(ward.State(), kUnhealthy);
    EXPECT_EQ(ward.State({.gpu = kSecond}), kHealthy);
    ward.ShowNothing();
    ward.Live(5s);
    EXPECT_EQ(ward.State(), kHealthy);
  }
}

TEST(Health, AGpuThatWasGivenToAVirtualMachineIsNotIll) {
  Ward ward;
  ward.Show(FaultKind::kLost);
  ward.After(1s);
  EXPECT_EQ(ward.State(), kUnhealthy);
  ward.gpu().given_away = true;
  ward.After(2s);
  EXPECT_EQ(ward.State(), kHealthy);
  EXPECT_EQ(ward.Next(), std::nullopt);
}

TEST(Health, OneUnreadableAnswerIsASuspicion) {
  for (const FaultKind kind : {FaultKind::kUnreadable, FaultKind::kMissing}) {
    Ward ward;
    ward.Show(kind);
    ward.After(1s);
    EXPECT_EQ(ward.State(), kHealthy);
    EXPECT_EQ(ward.Next(), 2s);
    ward.After(2s);
    EXPECT_EQ(ward.State(), kHealthy);
    ward.After(2s);
    EXPECT_EQ(ward.State(), kUnhealthy);
    ward.ShowNothing();
    ward.Live(5s);
    EXPECT_EQ(ward.State(), kHealthy);
  }
}

TEST(Health, ASuspicionThatWasNoneIsForgotten) {
  Ward ward;
  ward.Show(FaultKind::kUnreadable);
  ward.After(1s);
  ward.ShowNothing();
  ward.After(2s);
  EXPECT_TRUE(ward.health_.faults.empty());
  EXPECT_TRUE(ward.health_.recoveries.empty());
}

TEST(Health, TheDriversWishesAreFollowed) {
  const auto state = [](std::uint32_t action, bool busy) {
    Ward ward;
    if (busy) ward.Run(7);
    ward.Ask(action);
    ward.After(1s);
    ward.After(30s);
    return ward.State();
  };
  EXPECT_EQ(state(1, true), kUnhealthy);
  EXPECT_EQ(state(2, true), kUnhealthy);
  EXPECT_EQ(state(3, true), kDegraded);
  EXPECT_EQ(state(3, false), kUnhealthy);
  EXPECT_EQ(state(4, true), kUnhealthy);
  EXPECT_EQ(state(5, false), kDegraded);
}

TEST(Health, WhoTurnedChecksOffIsSparedTheDriversWishes) {
  Ward ward;
  ward.options_.overrides.disable_all = true;
  ward.Ask(1);
  ward.After(1s);
  EXPECT_EQ(ward.State(), kHealthy);
  ward.Show(FaultKind::kLost);
  ward.After(1s);
  EXPECT_EQ(ward.State(), kUnhealthy) << "nobody can use it";
}

TEST(Health, ARemapWaitsUntilTheGpuIsIdle) {
  Ward ward;
  ward.Run(7);
  ward.Show(FaultKind::kRemapPending);
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kDegraded);
  ward.gpu().running->clear();
  ward.Live(31s);
  EXPECT_EQ(ward.State(), kUnhealthy);
  EXPECT_EQ(ward.Reason(), "RowRemapPending");
}

TEST(Health, MemoryErrorsByThemselvesOnlyDegrade) {
  Ward ward;
  ward.Show(FaultKind::kMemoryErrors);
  ward.After(1s);
  EXPECT_EQ(ward.State(), kDegraded);
}

// Applications' errors that an operator made fatal.

TEST(Health, ASliceIsBackWhenItsProcessesAreGone) {
  Ward ward;
  ward.options_.rules = {Fatal(31)};
  ward.Run(7, 1, 0);
  ward.Run(8, 2, 0);
  ward.Xid(31, Ward::Device(1, 0));
  EXPECT_EQ(ward.State(Ward::Device(1, 0)), kUnhealthy);
  ward.Live(1min);
  EXPECT_EQ(ward.State(Ward::Device(1, 0)), kUnhealthy);
  EXPECT_EQ(ward.State(Ward::Device(2, 0)), kHealthy);
  ward.gpu().running->erase(ward.gpu().running->begin());
  ward.Live(5s);
  EXPECT_EQ(ward.State(Ward::Device(1, 0)), kHealthy) << "its neighbour runs on";
}

TEST(Health, AProcessOfUnknownPlaceMayBeTheOne) {
  Ward ward;
  ward.options_.rules = {Fatal(31)};
  ward.Run(7);
  ward.Xid(31, Ward::Device(1, 0));
  ward.Live(1min);
  EXPECT_EQ(ward.State(Ward::Device(1, 0)), kUnhealthy);
}

TEST(Health, WhoCameLaterIsNotWaitedFor) {
  Ward ward;
  ward.options_.rules = {Fatal(31)};
  ward.Run(7);
  ward.Xid(31);
  ward.After(1s);
  ward.gpu().running->clear();
  ward.Run(9);
  ward.Live(5s);
  EXPECT_EQ(ward.State(), kHealthy);
}

TEST(Health, WhereNobodyKnowsTheProcessesTenMinutesMustDo) {
  Ward ward;
  ward.options_.rules = {Fatal(31)};
  ward.gpu().running.reset();
  ward.Xid(31);
  ward.Live(9min);
  EXPECT_EQ(ward.State(), kUnhealthy);
  ward.Live(1min + 5s);
  EXPECT_EQ(ward.State(), kHealthy);
}

TEST(Health, AnotherErrorWaitsForItsOwnProcesses) {
  Ward ward;
  ward.options_.rules = {Fatal(31)};
  ward.Xid(31);
  ward.After(1s);
  EXPECT_EQ(ward.State(), kRecovering);
  ward.Run(9);
  ward.Xid(31);
  EXPECT_EQ(ward.State(), kUnhealthy);
  ward.Live(1min);
  EXPECT_EQ(ward.State(), kUnhealthy);
}

}  // namespace
}  // namespace partita::service::health
