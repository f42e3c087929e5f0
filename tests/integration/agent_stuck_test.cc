// An agent on a simulated machine whose driver has a call that never comes back. Time on the loop
// is the test's; the driver's threads are real, so whatever comes from them is waited for.

#include <signal.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "agent/agent.h"
#include "base/files.h"
#include "net/testing/fake_loop.h"
#include "sim/state/life.h"
#include "tests/integration/simulated_machine.h"
#include "tests/integration/wait_for.h"

namespace partita::integration {
namespace {

using hw::nvml::Part;
using service::inventory::SnapshotPtr;
using std::chrono::seconds;

class AgentStuckTest : public ::testing::Test {
 protected:
  AgentStuckTest() : machine_("dgx-a100-40"), work_(machine_.root() + "/agent") {
    std::filesystem::create_directories(work_);
    const std::filesystem::path libraries = machine_.root() + "/usr/lib64";
    std::filesystem::create_directories(libraries);
    std::filesystem::create_symlink(PARTITA_SIM_LIBRARY, libraries / "libnvidia-ml.so.1");
    const config::Origin flag{config::OriginKind::kFlag, "--flag"};
    agent::AgentOptions options;
    options.config = {work_ + "/config.yaml",
                      false,
                      {{"node.hostRoot", machine_.root(), flag},
                       {"node.driverRoot", machine_.root(), flag},
                       {"listen", "", flag}}};
    options.run_directory = work_ + "/run";
    options.state_directory = work_ + "/state";
    options.unkillable = [this] { return unkillable_; };
    options_ = options;
  }
  // What hangs comes back before the driver goes.
  void TearDown() override { machine_.ClearCallFaults(); }

  void Start() {
    agent_.emplace(loop_, log_, agent::Notifier(""), options_);
    agent_->Start([this](const base::Result<void>& end) {
      ended_ = end.ok() ? "ok" : end.error().ToString();
    });
    loop_.RunUntil([this] { return agent_->running() || !ended_.empty(); });
    ASSERT_TRUE(agent_->running()) << ended_ << lines_;
    ASSERT_EQ(agent_->node().live().current()->inventory.gpus.size(), 8U);
  }
  void Look() {
    SnapshotPtr seen;
    agent_->node().live().Look({Part::kModes}, [&](const SnapshotPtr& each) { seen = each; });
    loop_.RunUntil([&] { return seen != nullptr; });
  }
  void HangOneCall() {
    machine_.HangCall("nvmlDeviceGetComputeMode", 3);
    Look();
    ASSERT_EQ(agent_->node().live().current()->stale.size(), 1U);
  }
  void ReplaceTheDriver() {
    machine_.Change([](const sim::Machine& machine, sim::Slot& slot) {
      sim::UnloadDriver(machine, slot);
      sim::LoadDriver(machine, slot);
    });
    Look();
    ASSERT_TRUE(agent_->node().live().unclosable());
  }
  [[nodiscard]] bool Says(const std::string& text) {
    return agent_->readiness().Text().find(text) != std::string::npos;
  }

  SimulatedMachine machine_;
  const std::string work_;
  agent::AgentOptions options_;
  std::vector<std::string> unkillable_;
  net::testing::FakeLoop loop_;
  std::string lines_;
  base::Log log_{loop_.clock(), [this](std::string_view line) { lines_ += line; }};
  std::optional<agent::Agent> agent_;
  std::string ended_;
};

TEST_F(AgentStuckTest, ReplacesItselfWhenTheKernelAllowsIt) {
  Start();
  HangOneCall();
  unkillable_ = {"4711 (driver/47:00.0)"};
  ReplaceTheDriver();
  loop_.Advance(seconds(59));
  EXPECT_TRUE(agent_->readiness().ready()) << "it may yet come back";
  loop_.Advance(seconds(6));
  EXPECT_TRUE(
      Says("[-] inventory: the session with the driver must close, and "
           "nvmlDeviceGetComputeMode on GPU 0000:"))
      << agent_->readiness().Text();
  EXPECT_NE(lines_.find("the kernel lets nobody end a thread"), std::string::npos) << lines_;
  EXPECT_NE(lines_.find("4711 (driver/47:00.0)"), std::string::npos);
  EXPECT_EQ(ended_, "") << "an exec would wait for ever";
  unkillable_.clear();
  loop_.Advance(seconds(5));
  loop_.RunUntil([this] { return !ended_.empty(); });
  EXPECT_EQ(ended_, "ok");
  EXPECT_TRUE(agent_->wants_replacing());
}

TEST_F(AgentStuckTest, EndsForGoodWhereSomebodyStopsItMeanwhile) {
  // Asked last, before it stops.
  options_.unkillable = [this] {
    loop_.Post([this] {
      EXPECT_TRUE(agent_->wants_replacing());
      loop_.Raise(SIGTERM);
    });
    return std::vector<std::string>();
  };
  Start();
  HangOneCall();
  ReplaceTheDriver();
  loop_.Advance(seconds(60));
  loop_.RunUntil([this] { return !ended_.empty(); });
  EXPECT_EQ(ended_, "ok");
  EXPECT_FALSE(agent_->wants_replacing());
}

TEST_F(AgentStuckTest, OnlySaysSoWhereItMayNot) {
  ASSERT_TRUE(base::WriteFile(work_ + "/config.yaml",
                              "version: partita/v1\nnode: {replaceWhenStuck: false}\n", 0644)
                  .ok());
  Start();
  HangOneCall();
  ReplaceTheDriver();
  loop_.Advance(seconds(120));
  EXPECT_TRUE(Says("never comes back")) << agent_->readiness().Text();
  EXPECT_NE(lines_.find("this process must be restarted"), std::string::npos) << lines_;
  EXPECT_TRUE(agent_->running());
  // It does come back: as if nothing had been.
  machine_.ClearCallFaults();
  for (int i = 0; i < 100 && agent_->node().live().unclosable(); ++i) Look();
  loop_.Advance(seconds(5));
  EXPECT_TRUE(agent_->readiness().ready()) << agent_->readiness().Text();
  EXPECT_EQ(agent_->node().live().current()->stale.size(), 0U);
  EXPECT_FALSE(agent_->wants_replacing());
}

// Nobody gives it up, as it is no job: it is asked to go, and does not.
TEST_F(AgentStuckTest, AWaitForEventsThatNeverEndsIsSuchACall) {
  Start();
  machine_.HangCall("nvmlEventSetWait", sim::kNone, 1);
  WaitFor("the wait for events to hang", [&] { return machine_.AllHang(); });
  ReplaceTheDriver();
  loop_.Advance(seconds(60));
  // Its end is not waited for longer than a stop may take.
  loop_.Advance(seconds(2));
  EXPECT_EQ(ended_, "ok");
  EXPECT_NE(lines_.find("the session with the driver must close, and the wait for events never "
                        "comes back"),
            std::string::npos)
      << lines_;
  EXPECT_TRUE(agent_->wants_replacing());
}

// The worst case: a call hangs, the driver's events are waited for, a look is under way.
TEST_F(AgentStuckTest, StopsWithinTwoSeconds) {
  Start();
  machine_.HangCall("nvmlDeviceGetComputeMode", 3);
  agent_->node().live().Look({Part::kModes});
  loop_.Raise(SIGTERM);
  loop_.Advance(seconds(2));
  EXPECT_EQ(ended_, "ok") << lines_;
  EXPECT_FALSE(agent_->wants_replacing());
}

}  // namespace
}  // namespace partita::integration
