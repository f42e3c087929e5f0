// Health in an agent on a simulated machine. Time on the loop is the test's; the driver's threads
// are real, so whatever comes from them is waited for.

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent/agent.h"
#include "base/files.h"
#include "base/json.h"
#include "hw/nvml/abi.h"
#include "kube/testing/fake_client.h"
#include "net/testing/fake_loop.h"
#include "sim/state/life.h"
#include "sim/state/mig.h"
#include "sim/state/use.h"
#include "tests/integration/simulated_machine.h"

namespace partita::integration {
namespace {

using enum model::HealthState;
using namespace std::chrono_literals;

class HealthTest : public ::testing::Test {
 protected:
  HealthTest() : machine_("dgx-a100-40"), work_(machine_.root() + "/agent") {
    std::filesystem::create_directories(work_);
    const std::filesystem::path libraries = machine_.root() + "/usr/lib64";
    std::filesystem::create_directories(libraries);
    std::filesystem::create_symlink(PARTITA_SIM_LIBRARY, libraries / "libnvidia-ml.so.1");
    const config::Origin flag{config::OriginKind::kFlag, "--flag"};
    options_.config = {work_ + "/config.yaml",
                       false,
                       {{"node.hostRoot", machine_.root(), flag},
                        {"node.driverRoot", machine_.root(), flag},
                        {"listen", "", flag}}};
    options_.run_directory = work_ + "/run";
    options_.state_directory = work_ + "/state";
    Configure("health: {xids: {31: reset, 95: reset}}");
  }
  void Configure(const std::string& health) {
    PARTITA_CHECK(
        base::WriteFile(work_ + "/config.yaml", "version: partita/v1\n" + health + "\n", 0644)
            .ok());
  }
  // What hangs comes back before the driver goes.
  void TearDown() override {
    machine_.ClearCallFaults();
    Stop();
  }

  void Start() {
    ended_.clear();
    agent_.emplace(loop_, log_, agent::Notifier(""), options_);
    agent_->Start([this](const base::Result<void>& end) {
      ended_ = end.ok() ? "ok" : end.error().ToString();
    });
    loop_.RunUntil([this] { return agent_->running() || !ended_.empty(); });
    ASSERT_TRUE(agent_->running()) << ended_ << lines_;
    loop_.RunUntil([this] { return agent_->node().listening(); });
  }
  void Stop() {
    if (!agent_ || !ended_.empty()) return;
    agent_->Stop();
    loop_.RunUntil([this] { return !ended_.empty(); });
    agent_.reset();
  }
  [[nodiscard]] model::GpuUuid Uuid(std::uint32_t gpu) const {
    return model::GpuUuid(machine_.board(gpu).uuid);
  }
  [[nodiscard]] model::HealthState State(std::uint32_t gpu,
                                         std::optional<std::uint32_t> gpu_instance = std::nullopt) {
    std::optional<model::GpuInstanceId> gi;
    std::optional<model::ComputeInstanceId> ci;
    if (gpu_instance) {
      gi = model::GpuInstanceId(*gpu_instance);
      ci = model::ComputeInstanceId(0);
    }
    const model::PartHealth* worst = agent_->health().current()->Worst(Uuid(gpu), gi, ci);
    return worst == nullptr ? kHealthy : worst->state;
  }
  void Xid(std::uint64_t xid, std::uint32_t gpu, std::uint32_t gpu_instance = sim::kNone) {
    machine_.Change([&](const sim::Machine&, sim::Slot& slot) {
      sim::AddXid(slot, gpu, xid, gpu_instance, gpu_instance == sim::kNone ? sim::kNone : 0);
    });
  }
  void Until(model::HealthState state, std::uint32_t gpu) {
    loop_.RunUntil([&] { return State(gpu) == state; });
  }
  // Time passes, and every look that falls into it is waited for: in steps that are shorter than a
  // look waits for its GPUs, whose threads know nothing of this time.
  void Pass(std::chrono::milliseconds time) {
    for (; time > 0ms; time -= 10ms) {
      loop_.Advance(10ms);
      loop_.RunUntil([this] { return !agent_->node().live().looking(); });
    }
  }

  SimulatedMachine machine_;
  const std::string work_;
  agent::AgentOptions options_;
  net::testing::FakeLoop loop_;
  std::string lines_;
  base::Log log_{loop_.clock(), [this](std::string_view line) { lines_ += line; }};
  std::optional<agent::Agent> agent_;
  std::string ended_;
};

TEST_F(HealthTest, AnXidOfASliceTakesItAloneAtOnceAndItComesBack) {
  const std::uint32_t ill = machine_.MakeMigDevice(0, 0, 0), well = machine_.MakeMigDevice(0, 0, 0);
  Start();
  int published = 0;
  const auto subscription =
      agent_->health().Subscribe([&](const agent::HealthKeeper::NodeHealthPtr& health) {
        ++published;
        EXPECT_EQ(health, agent_->health().current());
      });
  Xid(31, 0, ill);
  // The clock stands still: no look is waited for.
  loop_.RunUntil([&] { return State(0, ill) == kUnhealthy; });
  EXPECT_EQ(State(0, well), kHealthy);
  EXPECT_EQ(State(0), kHealthy);
  EXPECT_GE(published, 1);
  EXPECT_NE(lines_.find("unhealthy (XidCritical)"), std::string::npos) << lines_;
  Pass(5500ms);
  EXPECT_EQ(State(0, ill), kHealthy) << lines_;
  EXPECT_NE(lines_.find("healthy again"), std::string::npos) << lines_;
}

// Its id may be given to another, elsewhere in the memory.
TEST_F(HealthTest, WhatIsWrongWithASliceThatIsRemovedIsTheGpus) {
  const std::uint32_t ill = machine_.MakeMigDevice(0, 0, 0);
  Start();
  Xid(95, 0, ill);
  loop_.RunUntil([&] { return State(0, ill) == kUnhealthy; });
  Pass(2500ms);
  EXPECT_EQ(State(0), kHealthy);
  machine_.Change(
      [](const sim::Machine&, sim::Slot& slot) { sim::DestroyAllInstances(slot.gpus[0]); });
  Pass(2500ms);
  EXPECT_EQ(State(0), kUnhealthy) << lines_;
}

TEST_F(HealthTest, ALostGpuIsBackWhenItReturns) {
  Start();
  machine_.Change([](const sim::Machine&, sim::Slot& slot) { sim::LoseGpu(slot, 2); });
  Until(kUnhealthy, 2);
  Pass(10s);
  EXPECT_EQ(State(2), kUnhealthy);
  EXPECT_EQ(State(1), kHealthy);
  machine_.Change([](const sim::Machine&, sim::Slot& slot) { slot.gpus[2].lost = 0; });
  Pass(5500ms);
  // Its events may be waited for a moment later: that is the driver's thread.
  EXPECT_TRUE(agent_->health().current()->Usable(Uuid(2))) << lines_;
  Until(kHealthy, 2);
}

TEST_F(HealthTest, AHungCallTakesItsGpuUntilItIsBack) {
  Start();
  machine_.HangCall("nvmlDeviceGetComputeMode", 3);
  // An idle node: the look of the half minute finds it, and its deadline is two seconds.
  loop_.Advance(30s);
  Until(kUnhealthy, 3);
  EXPECT_EQ(agent_->health().current()->Worst(Uuid(3))->reason, "DriverHung");
  EXPECT_EQ(State(2), kHealthy);
  Pass(30s);
  EXPECT_EQ(State(3), kUnhealthy);
  machine_.ClearCallFaults();
  // The thread that hung has to be back, which is not of the loop's time.
  loop_.RunUntil([this] {
    agent_->node().live().Look({hw::nvml::Part::kModes});
    return !agent_->node().live().current()->stale.contains(
        agent_->node().live().current()->inventory.gpus[3].pci);
  });
  Pass(5500ms);
  EXPECT_EQ(State(3), kHealthy) << lines_;
}

TEST_F(HealthTest, AGpuWhoseFirmwareDoesNotAnswerIsNotAskedButOnceAMinute) {
  Start();
  Xid(119, 3);
  Until(kUnhealthy, 3);
  loop_.RunUntil([this] { return !agent_->node().live().looking(); });
  // Whoever called would not come back, and be seen.
  machine_.HangCall("*", 3, 1);
  Pass(55s);
  bool looked = false;
  agent_->node().live().Look(hw::nvml::Parts::All(), [&](const auto&) { looked = true; });
  loop_.RunUntil([&] { return looked; });
  EXPECT_FALSE(machine_.AllHang()) << "it was asked";
  EXPECT_EQ(State(2), kHealthy);
  loop_.Advance(10s);
  loop_.RunUntil([this] { return machine_.AllHang(); });
  machine_.ClearCallFaults();
}

TEST_F(HealthTest, AGpuThatIsNotAskedIsAtOnceWhenItAnswersOnTheBusAgain) {
  Start();
  machine_.Change([](const sim::Machine&, sim::Slot& slot) { sim::LoseGpu(slot, 2); });
  Until(kUnhealthy, 2);
  Pass(4s);
  machine_.HangCall("*", 2, 1);
  Pass(20s);
  EXPECT_FALSE(machine_.AllHang()) << "it was asked";
  machine_.ClearCallFaults();
  machine_.Change([](const sim::Machine&, sim::Slot& slot) { slot.gpus[2].lost = 0; });
  Pass(5500ms);
  EXPECT_TRUE(agent_->health().current()->Usable(Uuid(2))) << lines_;
}

// It is back before anybody has looked: the bus was read when the XID was told.
TEST_F(HealthTest, AGpuThatWasOffTheBusForAMomentIsBack) {
  Start();
  machine_.Change([](const sim::Machine&, sim::Slot& slot) { sim::LoseGpu(slot, 2); });
  loop_.RunUntil([this] {
    return base::ToJsonLine(agent_->health().Document()).find("\"xid\":79") != std::string::npos;
  });
  // Whatever answers now does so after it.
  loop_.fake_clock().Move(1ms);
  machine_.Change([](const sim::Machine&, sim::Slot& slot) { slot.gpus[2].lost = 0; });
  Pass(5500ms);
  EXPECT_TRUE(agent_->health().current()->Usable(Uuid(2))) << lines_;
}

// Each look of others that finds news puts off the timer of the looks for health.
TEST_F(HealthTest, AGpuThatIsNotAskedIsProbedAlsoWhereOthersLookAllTheTime) {
  Start();
  Xid(119, 3);
  Until(kUnhealthy, 3);
  loop_.RunUntil([this] { return !agent_->node().live().looking(); });
  machine_.HangCall("*", 3, 1);
  for (std::uint32_t i = 0; i < 80 && !machine_.AllHang(); ++i) {
    machine_.Change([&](const sim::Machine&, sim::Slot& slot) {
      slot.gpus[1].compute_mode = i % 2 == 0 ? sim::kComputeExclusiveProcess : 0;
    });
    agent_->node().live().Look({hw::nvml::Part::kModes});
    loop_.RunUntil([this] { return !agent_->node().live().looking(); });
    Pass(1s);
  }
  EXPECT_TRUE(machine_.AllHang());
  machine_.ClearCallFaults();
}

TEST_F(HealthTest, AGpuThatIsNotAskedIsAtOnceWhenTheDriverWantsItReset) {
  Start();
  Xid(119, 1);
  Until(kUnhealthy, 1);
  Pass(2s);
  machine_.Change([](const sim::Machine&, sim::Slot& slot) { slot.gpus[1].recovery_action = 1; });
  Xid(154, 1);
  // The clock stands still.
  loop_.RunUntil(
      [this] { return agent_->node().live().current()->inventory.gpus[1].recovery_action == 1U; });
  Pass(100ms);
  machine_.Change([](const sim::Machine&, sim::Slot& slot) { slot.gpus[1].recovery_action = 0; });
  Xid(154, 1);
  loop_.RunUntil([this] { return State(1) == kRecovering; });
  Pass(3500ms);
  EXPECT_EQ(State(1), kHealthy) << lines_;
}

TEST_F(HealthTest, AReloadOfTheDriverEndsWhatAResetWould) {
  // The kernel's directory of the module is another one after each load.
  const std::string modules = machine_.root() + "/sys/module";
  std::filesystem::create_directories(modules + "/nvidia-again");
  Start();
  Xid(95, 1);
  Until(kUnhealthy, 1);
  Pass(10s);
  EXPECT_EQ(State(1), kUnhealthy);
  machine_.Change(
      [](const sim::Machine& machine, sim::Slot& slot) { sim::ReloadDriver(machine, slot); });
  std::filesystem::remove_all(modules + "/nvidia");
  std::filesystem::rename(modules + "/nvidia-again", modules + "/nvidia");
  Pass(8s);
  EXPECT_EQ(State(1), kHealthy) << lines_;
}

TEST_F(HealthTest, AnotherSessionIsNoReset) {
  Start();
  Xid(95, 1);
  Until(kUnhealthy, 1);
  Pass(2s);
  bool reopened = false;
  agent_->node().Reopen([&](const base::Result<void>& end) { reopened = end.ok(); });
  loop_.RunUntil([&] { return reopened; });
  Pass(20s);
  EXPECT_EQ(State(1), kUnhealthy) << lines_;
}

TEST_F(HealthTest, ACallThatFailedIsNoReset) {
  Start();
  Xid(95, 1);
  Until(kUnhealthy, 1);
  Pass(2s);
  machine_.FailCall("nvmlDeviceGetCount", sim::kNone, hw::nvml::NVML_ERROR_UNKNOWN);
  loop_.RunUntil([this] {
    agent_->node().live().Look({hw::nvml::Part::kModes});
    return agent_->node().live().current()->inventory.driver_error.has_value();
  });
  machine_.ClearCallFaults();
  Pass(20s);
  EXPECT_FALSE(agent_->node().live().current()->inventory.driver_error.has_value());
  EXPECT_EQ(State(1), kUnhealthy) << lines_;
}

TEST_F(HealthTest, TheDriversWishIsFollowedAndItsEndIsAProof) {
  Start();
  Xid(95, 1);
  Until(kUnhealthy, 1);
  machine_.Change([](const sim::Machine&, sim::Slot& slot) { slot.gpus[1].recovery_action = 1; });
  Pass(4s);
  EXPECT_EQ(State(1), kUnhealthy);
  machine_.Change([](const sim::Machine&, sim::Slot& slot) { slot.gpus[1].recovery_action = 0; });
  Pass(5500ms);
  EXPECT_EQ(State(1), kHealthy) << lines_;
}

TEST_F(HealthTest, ADriverThatAsksForNothingLeavesInUseWhatOnlyThePresetMinds) {
  Start();
  Xid(46, 1);
  Until(kUnhealthy, 1);
  Pass(9s);
  EXPECT_EQ(State(1), kUnhealthy) << "it has time to ask";
  Pass(4s);
  EXPECT_EQ(State(1), kDegraded) << lines_;
}

TEST_F(HealthTest, AskedForIsReadAtOnceWhenTheDriverTellsSo) {
  Start();
  machine_.Change([](const sim::Machine&, sim::Slot& slot) { slot.gpus[1].recovery_action = 4; });
  Xid(154, 1);
  // The clock stands still.
  Until(kUnhealthy, 1);
  EXPECT_EQ(agent_->health().current()->Worst(Uuid(1))->reason, "RecoveryAction");
}

TEST_F(HealthTest, ARestartForgetsNothingAndAnOperatorMay) {
  Start();
  Xid(95, 1);
  Until(kUnhealthy, 1);
  Stop();
  Start();
  EXPECT_EQ(State(1), kUnhealthy) << lines_;
  Pass(20s);
  EXPECT_EQ(State(1), kUnhealthy);
  EXPECT_FALSE(agent_->health().Clear("GPU-nobody").ok());
  EXPECT_EQ(agent_->health().Clear("2").value(), 0U);
  EXPECT_EQ(agent_->health().Clear("1").value(), 1U);
  EXPECT_EQ(State(1), kHealthy);
  Stop();
  Start();
  EXPECT_EQ(State(1), kHealthy);
}

// "Warning GpuUnhealthy: …", a line each.
class HealthEvents : public HealthTest {
 protected:
  HealthEvents() {
    options_.connect = [this](net::Loop& loop,
                              const std::string&) -> base::Result<agent::ClusterConnection> {
      auto client = std::make_unique<kube::testing::FakeClient>(loop);
      watching_ = client->Watch("/apis/events.k8s.io/v1/namespaces/default/events", "",
                                {.seen = [this](const base::Value& event) {
                                  events_ += event.Find("type")->AsString() + " " +
                                             event.Find("reason")->AsString() + ": " +
                                             event.Find("note")->AsString() + "\n";
                                }});
      return agent::ClusterConnection{std::move(client), "the test", "default"};
    };
  }
  void TearDown() override {
    watching_.reset();
    HealthTest::TearDown();
  }
  // What came since the last time; waits for so many.
  std::string Events(std::ptrdiff_t count) {
    loop_.RunUntil([&] { return std::count(events_.begin(), events_.end(), '\n') >= count; });
    return std::exchange(events_, "");
  }

  std::unique_ptr<kube::Watching> watching_;
  std::string events_;
};

TEST_F(HealthEvents, WhatAnOperatorClearsIsOne) {
  Start();
  Xid(95, 1);
  Until(kUnhealthy, 1);
  Events(1);
  ASSERT_EQ(agent_->health().Clear("2").value(), 0U) << "nothing is wrong with it";
  ASSERT_EQ(agent_->health().Clear("1").value(), 1U);
  EXPECT_EQ(Events(1),
            "Normal GpuRecovered: an operator cleared 1 fault of GPU 1 (partita health clear)\n");
}

TEST_F(HealthEvents, AFaultAndItsEndAreOneEach) {
  const std::uint32_t ill = machine_.MakeMigDevice(0, 0, 0);
  Start();
  Xid(31, 0, ill);
  loop_.RunUntil([&] { return State(0, ill) == kUnhealthy; });
  const std::string part =
      fmt::format("GPU instance {}, compute instance 0 of GPU 0 ({})", ill, machine_.board(0).uuid);
  EXPECT_EQ(Events(1),
            "Warning GpuUnhealthy: " + part +
                " is unhealthy (XidCritical): XID 31, a page fault of the GPU's MMU: look at the "
                "program that ran there; it is back when that has ended\n");
  Pass(5500ms);
  EXPECT_EQ(State(0, ill), kHealthy) << lines_;
  EXPECT_EQ(Events(1),
            "Normal GpuRecovered: " + part + " is healthy again (XidCritical is over)\n");
}

TEST_F(HealthEvents, ASliceIsNotBackWhileItsGpuIsOut) {
  const std::uint32_t ill = machine_.MakeMigDevice(0, 0, 0);
  Start();
  Xid(31, 0, ill);
  EXPECT_NE(Events(1).find("Warning GpuUnhealthy: GPU instance "), std::string::npos);
  Xid(95, 0);
  EXPECT_NE(Events(1).find("Warning GpuUnhealthy: GPU 0 ("), std::string::npos);
  Pass(5500ms);
  Xid(95, 2);
  EXPECT_NE(Events(1).find("Warning GpuUnhealthy: GPU 2 ("), std::string::npos);
  EXPECT_EQ(events_, "");
}

TEST_F(HealthEvents, WhatOnlyDegradesIsNone) {
  Configure("health: {xids: {95: event}}");
  Start();
  Xid(95, 1);
  Until(kDegraded, 1);
  Xid(79, 2);
  const std::string told = Events(1);
  EXPECT_EQ(told.find("Warning GpuUnhealthy: GPU 2 ("), 0U) << told;
}

TEST_F(HealthEvents, WhatOtherRulesEndAtOnceIsOne) {
  Start();
  Xid(31, 1);
  Until(kUnhealthy, 1);
  Events(1);
  Configure("");
  ASSERT_TRUE(agent_->Reload().ok());
  EXPECT_EQ(Events(1), fmt::format("Normal GpuRecovered: GPU 1 ({}) is healthy again (XidCritical "
                                   "is over)\n",
                                   machine_.board(1).uuid));
}

TEST_F(HealthEvents, AFaultThatIsRememberedIsNotToldAgain) {
  Start();
  Xid(95, 1);
  EXPECT_NE(Events(1).find("Warning GpuUnhealthy: GPU 1 ("), std::string::npos);
  Stop();
  Start();
  EXPECT_EQ(State(1), kUnhealthy) << lines_;
  Xid(95, 2);
  EXPECT_NE(Events(1).find("Warning GpuUnhealthy: GPU 2 ("), std::string::npos);
  EXPECT_EQ(events_, "");
}

TEST_F(HealthTest, OtherRulesHoldAtOnce) {
  Start();
  Xid(31, 1);
  Until(kUnhealthy, 1);
  Configure("");
  ASSERT_TRUE(agent_->Reload().ok());
  EXPECT_EQ(State(1), kHealthy) << lines_;
}

TEST_F(HealthTest, OtherRulesHoldAlsoWhereTheyChangedWhileNobodyRan) {
  Start();
  Xid(95, 1);
  Until(kUnhealthy, 1);
  Stop();
  Configure("health: {xids: {95: event}}");
  Start();
  EXPECT_EQ(State(1), kDegraded) << lines_;
}

TEST_F(HealthTest, RestsWhereAllIsWell) {
  Start();
  Pass(2s);
  for (const auto& [name, due] : loop_.ArmedTimers()) EXPECT_NE(name, "health");
}

}  // namespace
}  // namespace partita::integration
