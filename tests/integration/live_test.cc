// The live inventory against simulated machines.

#include "service/inventory/live.h"

#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "hw/inventory_reader.h"
#include "sim/state/life.h"
#include "tests/integration/live_fixture.h"

namespace partita::integration {
namespace {

using hw::nvml::Part;
using hw::nvml::Parts;
using service::inventory::Changes;
using service::inventory::SnapshotPtr;
using namespace std::chrono_literals;

constexpr Parts kShape = {Part::kModes};

// What a reader of everything sees, without what moves by itself.
model::Inventory AtRest(model::Inventory node) {
  node.generation = 0;
  for (model::Gpu& gpu : node.gpus) {
    gpu.readings = {};
    gpu.pcie_generation.reset();
    gpu.pcie_width.reset();
  }
  return node;
}

TEST_F(LiveTest, KnowsWhatAReaderOfEverythingKnows) {
  machine_.MakeMigDevice(2, 0, 0);
  Settle();
  hw::InventoryReader reader(machine_.Options());
  EXPECT_EQ(AtRest(live_->current()->inventory), AtRest(reader.Read()));
  EXPECT_EQ(StaleCount(), 0U);
  EXPECT_EQ(live_->current()->session, 1U);
}

TEST_F(LiveTest, PublishesNothingWhereNothingChanged) {
  Settle();
  const SnapshotPtr before = live_->current();
  int published = 0;
  const auto subscription =
      live_->Subscribe([&](const SnapshotPtr&, const Changes&) { ++published; });
  EXPECT_EQ(Look(kShape), before);
  EXPECT_EQ(Look({Part::kHolders}), before);
  EXPECT_EQ(published, 0);
}

TEST_F(LiveTest, TellsWhatSomebodyElseChanged) {
  Settle();
  const SnapshotPtr before = live_->current();
  // The first; its links follow.
  std::optional<Changes> told;
  const auto subscription = live_->Subscribe([&](const SnapshotPtr&, const Changes& changes) {
    if (!told) told = changes;
  });
  machine_.MakeMigDevice(5, 0, 0);
  // The mode is all that is asked for; that it differs has the instances read as well.
  Look(kShape);
  EXPECT_EQ(Gpu(5).mig->instances.size(), 1U);
  EXPECT_TRUE(told->shape);
  EXPECT_FALSE(told->identity);
  EXPECT_EQ(told->changed, std::vector{Gpu(5).pci});
  EXPECT_GT(live_->current()->revisions.shape, before->revisions.shape);
  EXPECT_EQ(live_->current()->revisions.identity, before->revisions.identity);
}

TEST_F(LiveTest, ASubscriptionEndsWithWhatWasReturned) {
  int calls = 0;
  auto subscription = live_->Subscribe([&](const SnapshotPtr&, const Changes&) { ++calls; });
  Settle();
  EXPECT_GT(calls, 0);
  subscription.reset();
  calls = 0;
  machine_.MakeMigDevice(5, 0, 0);
  Look(kShape);
  EXPECT_EQ(calls, 0);
}

TEST_F(LiveTest, LooksThatComeWhileOneRunsAreOne) {
  Settle();
  int done = 0;
  const auto count = [&](const SnapshotPtr&) { ++done; };
  live_->Look(kShape, count);
  live_->Look({Part::kReadings}, count);
  live_->Look({Part::kHolders}, count);
  loop_.RunUntil([&] { return done == 3; });
  EXPECT_TRUE(Gpu(0).readings.temperature.has_value());
  EXPECT_FALSE(Gpu(0).processes_error.has_value());
}

TEST_F(LiveTest, OneThatHangsDelaysNobodyAndIsShownAsItWas) {
  Settle();
  const model::Gpu before = Gpu(3);
  machine_.HangCall("nvmlDeviceGetComputeMode", 3);
  machine_.MakeMigDevice(5, 0, 0);
  SnapshotPtr seen;
  live_->Look(kShape, [&](const SnapshotPtr& snapshot) { seen = snapshot; });
  // The others are published at the end of the time for gathering, not of the driver's limit.
  loop_.RunUntil([&] { return driver_->lanes() == 1; });
  ASSERT_TRUE(driver_->Run("", driver_->LimitsFor({}), [](const auto&, auto&) {}).Done());
  loop_.RunUntilIdle();
  loop_.Advance(20ms);
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->inventory.gpus[5].mig->instances.size(), 1U);
  EXPECT_EQ(seen->inventory.gpus[3], before);

  loop_.RunUntil([&] { return StaleCount() == 1; });
  EXPECT_EQ(Gpu(3).uuid, before.uuid);
  EXPECT_EQ(Gpu(3).mig, before.mig);
  EXPECT_EQ(Gpu(3).faults.at(0).kind, model::FaultKind::kHung);

  machine_.ClearCallFaults();
  UntilNoneIsStale();
  EXPECT_TRUE(Gpu(3).faults.empty());
  EXPECT_EQ(Gpu(3).compute_mode, before.compute_mode);
}

TEST_F(LiveTest, WhatALateOneMissedIsReadWhenItIsBack) {
  machine_.Change([](const sim::Machine&, sim::Slot& slot) {
    slot.gpus[3].mig_current = slot.gpus[3].mig_pending = 1;
  });
  Settle();
  machine_.HangCall("nvmlDeviceGetComputeMode", 3);
  live_->Look(kShape);
  loop_.RunUntil([&] { return driver_->lanes() == 1; });
  loop_.Advance(20ms);
  machine_.MakeMigDevice(3, 0, 0);
  live_->Look({Part::kModes, Part::kInstances});
  loop_.RunUntilIdle();
  machine_.ClearCallFaults();
  WaitFor("the driver's calls to end", [&] { return driver_->lanes() == 0; });
  loop_.RunUntilIdle();
  Look({});
  Look({});
  EXPECT_EQ(Gpu(3).mig->instances.size(), 1U);
}

class PatientLiveTest : public LiveTest {
 protected:
  PatientLiveTest() : LiveTest(60s) {}  // nothing here is given up
};

TEST_F(PatientLiveTest, ThoseThatComeBackTogetherAreOneSnapshot) {
  Settle();
  machine_.Change([](const sim::Machine&, sim::Slot& slot) {
    for (const int gpu : {3, 5}) slot.gpus[gpu].mig_current = slot.gpus[gpu].mig_pending = 1;
  });
  for (const std::uint32_t gpu : {3U, 5U}) machine_.HangCall("nvmlDeviceGetComputeMode", gpu);
  int published = 0;
  const auto subscription =
      live_->Subscribe([&](const SnapshotPtr&, const Changes&) { ++published; });
  live_->Look(kShape);
  loop_.RunUntil([&] { return driver_->lanes() == 2; });
  loop_.Advance(20ms);
  EXPECT_EQ(published, 0);
  machine_.ClearCallFaults();
  WaitFor("the driver's calls to end", [&] { return driver_->lanes() == 0; });
  loop_.RunUntilIdle();
  EXPECT_EQ(published, 1);
  EXPECT_TRUE(Gpu(3).mig->enabled && Gpu(5).mig->enabled);
}

TEST_F(PatientLiveTest, WhoMustSeeWhatIsNowIsAnsweredWhenTheLateOneIs) {
  Settle();
  machine_.HangCall("nvmlDeviceGetComputeMode", 3);
  machine_.Change([](const sim::Machine&, sim::Slot& slot) {
    slot.gpus[3].mig_current = slot.gpus[3].mig_pending = 1;
  });
  SnapshotPtr seen;
  live_->LookPatiently(kShape, [&](const SnapshotPtr& snapshot) { seen = snapshot; });
  loop_.RunUntil([&] { return driver_->lanes() == 1; });
  loop_.Advance(20ms);
  EXPECT_EQ(seen, nullptr);
  machine_.ClearCallFaults();
  loop_.RunUntil([&] { return seen != nullptr; });
  EXPECT_TRUE(seen->inventory.gpus[3].mig->enabled);
}

// It was late before, so that the look of whoever asks leaves it out; what it missed is asked
// first.
TEST_F(PatientLiveTest, WhoMustSeeWhatIsNowIsAnsweredAfterWhatALateOneMissed) {
  machine_.Change([](const sim::Machine&, sim::Slot& slot) {
    slot.gpus[3].mig_current = slot.gpus[3].mig_pending = 1;
  });
  Settle();
  machine_.HangCall("nvmlDeviceGetComputeMode", 3);
  live_->Look({Part::kModes});
  loop_.RunUntil([&] { return driver_->lanes() == 1; });
  loop_.Advance(20ms);
  machine_.MakeMigDevice(3, 0, 0);
  SnapshotPtr seen;
  live_->LookPatiently({Part::kModes, Part::kInstances},
                       [&](const SnapshotPtr& snapshot) { seen = snapshot; });
  loop_.RunUntil([&] { return !live_->looking(); });
  EXPECT_EQ(seen, nullptr);
  machine_.ClearCallFaults();
  loop_.RunUntil([&] { return seen != nullptr; });
  EXPECT_EQ(seen->inventory.gpus[3].mig->instances.size(), 1U);
}

TEST_F(PatientLiveTest, WhoMustSeeWhatIsNowWaitsOnceForOneThatHangs) {
  Settle();
  const model::Gpu before = Gpu(3);
  machine_.HangCall("nvmlDeviceGetComputeMode", 3);
  int answers = 0;
  const auto count = [&](const SnapshotPtr& snapshot) {
    ++answers;
    EXPECT_EQ(snapshot->inventory.gpus[3], before);
  };
  live_->LookPatiently(kShape, count);
  loop_.RunUntil([&] { return driver_->lanes() == 1; });
  loop_.Advance(20ms);
  loop_.Advance(979ms);
  EXPECT_EQ(answers, 0);
  loop_.Advance(1ms);
  EXPECT_EQ(answers, 1);
  // It has been late for longer than anybody waits.
  loop_.Advance(20ms);
  live_->LookPatiently(kShape, count);
  loop_.RunUntil([&] { return !live_->looking(); });
  EXPECT_EQ(answers, 2);
  machine_.ClearCallFaults();
}

TEST_F(LiveTest, TheAgeOfOneThatHangsIsThatOfItsLastAnswer) {
  Settle();
  machine_.HangCall("nvmlDeviceGetComputeMode", 3);
  live_->Look(kShape);
  loop_.RunUntil([&] { return StaleCount() == 1; });
  const auto since = live_->current()->stale.at(Gpu(3).pci).since;
  Look(kShape);
  const SnapshotPtr before = live_->current();
  loop_.Advance(30s);
  Look(kShape);
  EXPECT_EQ(live_->current()->stale.at(Gpu(3).pci).since, since);
  EXPECT_EQ(live_->current(), before);
}

TEST_F(LiveTest, ACallThatFailsTakesNothingAway) {
  machine_.MakeMigDevice(5, 0, 0);
  Settle();
  const auto shown = [this] {
    model::Gpu gpu = AtRest(live_->current()->inventory).gpus[5];
    for (model::GpuInstance& each : gpu.mig->instances) each.memory.reset();  // holders'
    return gpu;
  };
  const model::Gpu before = shown();
  const Parts all = Parts::All();
  for (const char* function :
       {"nvmlDeviceGetMigMode", "nvmlDeviceGetGpuInstances", "nvmlDeviceGetComputeMode",
        "nvmlDeviceGetName", "nvmlDeviceGetMemoryInfo_v2"}) {
    machine_.FailCall(function, 5, 999);
    Look(all);
    model::Gpu after = shown();
    after.mig_error = before.mig_error;
    after.hidden_holders = before.hidden_holders;
    EXPECT_EQ(after, before) << function;
    EXPECT_FALSE(live_->current()->inventory.problems.empty()) << function;
    machine_.ClearCallFaults();
    Look(kShape);
    EXPECT_EQ(StaleCount(), 0U) << function;
    Look(all);
    EXPECT_EQ(shown(), before) << function;
    EXPECT_TRUE(live_->current()->inventory.problems.empty()) << function;
  }
}

TEST_F(LiveTest, ALostOneKeepsItsNameAndTheOthersStayFresh) {
  Settle();
  machine_.Change([](const sim::Machine&, sim::Slot& slot) { sim::LoseGpu(slot, 2); });
  Look(kShape);
  EXPECT_EQ(Gpu(2).uuid, model::GpuUuid(machine_.board(2).uuid));
  EXPECT_EQ(Gpu(2).faults.at(0).kind, model::FaultKind::kLost);
  EXPECT_EQ(StaleCount(), 1U);
}

TEST_F(LiveTest, OneThatAnswersLaterHasItsLinks) {
  machine_.HangCall("*", 0);
  live_->Look(Parts::All());
  loop_.RunUntil([&] { return StaleCount() == 1; });
  machine_.ClearCallFaults();
  UntilNoneIsStale();
  const auto pairs = [&] { return live_->current()->inventory.links.size(); };
  loop_.RunUntil([&] { return pairs() > 0; });
  Look(kShape);
  loop_.RunUntil([&] { return pairs() >= std::size_t{8 * 7 / 2}; });

  // And keeps them while it does not.
  machine_.Change([](const sim::Machine&, sim::Slot& slot) { sim::LoseGpu(slot, 0); });
  Look(kShape);
  live_->LookAtLinks();
  Look(kShape);
  EXPECT_TRUE(driver_->Run("", driver_->LimitsFor({}), [](const auto&, auto&) {}).Done());
  loop_.RunUntilIdle();
  EXPECT_EQ(pairs(), std::size_t{8 * 7 / 2});
}

TEST_F(LiveTest, OneWhoseMigModeChangedHasItsLinksReadAgain) {
  Settle();
  const auto linked = [&] {
    std::set<model::PciAddress> gpus;
    for (const model::SwitchLinks& each : live_->current()->inventory.switch_links)
      gpus.insert(each.gpu);
    return gpus;
  };
  ASSERT_EQ(linked().size(), 8U);
  machine_.Change([](const sim::Machine&, sim::Slot& slot) {
    slot.gpus[0].mig_current = slot.gpus[0].mig_pending = 1;
  });
  Look(kShape);
  EXPECT_TRUE(driver_->Run("", driver_->LimitsFor({}), [](const auto&, auto&) {}).Done());
  loop_.RunUntilIdle();
  EXPECT_FALSE(linked().contains(Gpu(0).pci));
  EXPECT_EQ(linked().size(), 7U);
}

TEST_F(LiveTest, ADriverThatWasReloadedIsANewSession) {
  Settle();
  machine_.Change([](const sim::Machine& machine, sim::Slot& slot) {
    sim::UnloadDriver(machine, slot);
    sim::LoadDriver(machine, slot);
  });
  Look(kShape);
  EXPECT_EQ(live_->current()->session, 2U);
  EXPECT_EQ(StaleCount(), 0U);
  EXPECT_EQ(Gpu(0).uuid, model::GpuUuid(machine_.board(0).uuid));
}

TEST_F(LiveTest, ASessionThatACallKeepsOpenIsTriedAgainWithEachLook) {
  Settle();
  machine_.HangCall("nvmlDeviceGetComputeMode", 3);
  Look(kShape);
  ASSERT_EQ(StaleCount(), 1U);
  EXPECT_FALSE(live_->unclosable()) << "it need not close";
  machine_.Change([](const sim::Machine& machine, sim::Slot& slot) {
    sim::UnloadDriver(machine, slot);
    sim::LoadDriver(machine, slot);
  });
  for (int i = 0; i < 4; ++i) {
    Look(kShape);
    ASSERT_TRUE(live_->unclosable());
    EXPECT_NE(live_->unclosable()->ToString().find("nvmlDeviceGetComputeMode on GPU"),
              std::string::npos)
        << live_->unclosable()->ToString();
  }
  machine_.ClearCallFaults();
  for (int i = 0; i < 100 && live_->unclosable(); ++i) Look(kShape);
  EXPECT_FALSE(live_->unclosable());
  EXPECT_EQ(live_->current()->session, 2U);
  EXPECT_EQ(StaleCount(), 0U);
}

TEST_F(LiveTest, AGpuThatTheDriverGetsIsReadInANewSession) {
  machine_.Change([](const sim::Machine&, sim::Slot& slot) {
    slot.gpus[4].pci_driver = sim::PciDriver::kVfio;
  });
  Settle();
  EXPECT_EQ(live_->current()->inventory.gpus.size(), 7U);
  machine_.Change([](const sim::Machine&, sim::Slot& slot) {
    slot.gpus[4].pci_driver = sim::PciDriver::kNvidia;
  });
  Look(kShape);
  ASSERT_EQ(live_->current()->inventory.gpus.size(), 8U);
  EXPECT_EQ(Gpu(4).uuid, model::GpuUuid(machine_.board(4).uuid));
  EXPECT_EQ(StaleCount(), 0U);
  EXPECT_EQ(live_->current()->session, 2U);
}

TEST_F(LiveTest, ALibraryThatOnlyFailsIsOpenedAgainAFewTimesALook) {
  Settle();
  machine_.FailCall("nvmlDeviceGetCount", sim::kNone, hw::nvml::NVML_ERROR_UNKNOWN);
  Look(kShape);
  EXPECT_TRUE(live_->current()->inventory.driver_error.has_value());
  machine_.ClearCallFaults();
  Look(kShape);
  EXPECT_FALSE(live_->current()->inventory.driver_error.has_value());
  EXPECT_LE(live_->current()->session, 5U);
}

TEST_F(LiveTest, WithoutADriverItSaysWhyAndKeepsNames) {
  Settle();
  machine_.Change(
      [](const sim::Machine& machine, sim::Slot& slot) { sim::UnloadDriver(machine, slot); });
  Look(kShape);
  EXPECT_FALSE(live_->current()->inventory.driver.has_value());
  EXPECT_TRUE(live_->current()->inventory.driver_error.has_value());
  EXPECT_EQ(Gpu(0).uuid, model::GpuUuid(machine_.board(0).uuid));
  EXPECT_EQ(StaleCount(), 8U);
}

// The calls in a log that the simulator writes.
std::size_t CountCalls(const std::string& path) {
  std::ifstream log(path);
  std::size_t count = 0;
  for (std::string line; std::getline(log, line);) ++count;
  return count;
}

TEST_F(LiveTest, ANodeAtRestCostsUnderFiftyCallsALook) {
  const std::string log = machine_.root() + "/calls";
  setenv("PARTITA_SIM_CALLS", log.c_str(), 1);
  Settle();
  unsetenv("PARTITA_SIM_CALLS");
  const std::size_t before = CountCalls(log);
  ASSERT_GT(before, 300U);
  Look(kShape);
  const std::size_t calls = CountCalls(log) - before;
  RecordProperty("calls", static_cast<int>(calls));
  EXPECT_LT(calls, 50U);
  EXPECT_GT(calls, 8U);
}

}  // namespace
}  // namespace partita::integration
