#include "agent/mps/mps_service.h"

#include <stdlib.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/mps/testing/scripted_runner.h"
#include "base/files.h"
#include "base/state_file.h"
#include "net/testing/fake_loop.h"

namespace partita::agent::mps {
namespace {

using service::mps::ComputeModePolicy;

// No mode is changed: there is no driver.
class MpsServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    options_ = {.root = std::string(directory_.data()) + "/mps",
                .modes_file = std::string(directory_.data()) + "/modes",
                .boot_id = "boot",
                .policy = ComputeModePolicy::kUnchanged,
                .refused = ""};
    service_.Start(options_, std::make_shared<hw::nvml::Driver>(hw::nvml::Driver::Options()));
  }
  void TearDown() override {
    service_.Stop();
    runner_->EndAll();
    EXPECT_TRUE(base::RemoveTree(directory_.data()).ok());
  }
  static service::mps::Domain DomainOf(const std::string& name) {
    service::mps::Domain domain;
    domain.name = name;
    domain.members.resize(1);
    domain.members[0].uuid = name;
    domain.memory = {model::Mebibytes(2048)};
    domain.threads = model::Percent(50);
    return domain;
  }
  void UntilProblems(const std::map<std::string, std::string>& problems) {
    loop_.RunUntil([&] { return service_.Problems() == problems; });
  }

  std::array<char, 32> directory_ = {"/tmp/partita-mps.XXXXXX"};
  net::testing::FakeLoop loop_;
  base::Log log_{loop_.clock(), [](std::string_view) {}};
  std::shared_ptr<testing::ScriptedRunner> runner_ = std::make_shared<testing::ScriptedRunner>();
  std::vector<RunnerKind> made_;
  service::mps::Holders holders_;
  MpsOptions options_;
  MpsService service_{loop_, log_,
                      [this](const MpsOptions& options) -> base::Result<std::shared_ptr<Runner>> {
                        made_.push_back(options.runner);
                        return std::shared_ptr<Runner>(runner_);
                      },
                      [] {}, [this] { return holders_; }};
};

TEST_F(MpsServiceTest, AnotherRunnerTakesOverWhatRuns) {
  service_.Want({DomainOf("GPU-1")}, true);
  UntilProblems({{"GPU-1", ""}});
  EXPECT_EQ(made_, std::vector<RunnerKind>{RunnerKind::kChild});
  // What is not of the runner is of the same domains.
  options_.driver_root = "/elsewhere";
  service_.SetOptions(options_);
  EXPECT_EQ(made_.size(), 1U);
  EXPECT_EQ(service_.Problems(), (std::map<std::string, std::string>{{"GPU-1", ""}}));

  // By its socket clients know it.
  const std::string pipe = service::mps::DirectoriesOf(options_.root, "GPU-1").pipe;
  ASSERT_TRUE(testing::Append(pipe + "/control", ""));
  options_.runner = RunnerKind::kPod;
  service_.SetOptions(options_);
  EXPECT_EQ(made_, (std::vector<RunnerKind>{RunnerKind::kChild, RunnerKind::kPod}));
  UntilProblems({{"GPU-1", ""}});
  EXPECT_EQ(runner_->started(), 1U);
}

TEST_F(MpsServiceTest, WhatMayStillBeThereStaysWanted) {
  service_.Want({DomainOf("GPU-1"), DomainOf("GPU-2")}, true);
  UntilProblems({{"GPU-1", ""}, {"GPU-2", ""}});
  // A GPU has not answered.
  service_.Want({DomainOf("GPU-2")}, false);
  UntilProblems({{"GPU-1", ""}, {"GPU-2", ""}});
  ASSERT_EQ(service_.Report().size(), 2U);
  EXPECT_FALSE(service_.Report()[0].kept);
  service_.Want({DomainOf("GPU-2")}, true);
  UntilProblems({{"GPU-2", ""}});
  EXPECT_EQ(service_.Report().size(), 1U);
  EXPECT_EQ(runner_->started(), 2U);
}

TEST_F(MpsServiceTest, SharesAreUnhealthyWhileAServerInFaultIsReplaced) {
  service_.Want({DomainOf("GPU-1")}, true);
  UntilProblems({{"GPU-1", ""}});
  loop_.RunUntil([&] { return !loop_.ArmedTimers().empty(); });
  runner_->HaveServer("FAULT");
  runner_->HangAt("GPU-1", "shutdown_server");
  loop_.Advance(std::chrono::seconds(30));
  while (!runner_->hangs()) loop_.RunUntilIdle();
  EXPECT_EQ(service_.Problems(),
            (std::map<std::string, std::string>{
                {"GPU-1", "MPS: a client's fault has ended the clients of its server"}}));
  runner_->GoOn();
  UntilProblems({{"GPU-1", ""}});
}

// Nothing is wanted, and yet there is something to be told.
TEST_F(MpsServiceTest, AGpuThatStaysExclusiveForWantOfARunnerIsReported) {
  ASSERT_TRUE(base::MakeDirectories(options_.root, 0755).ok());
  ASSERT_TRUE(base::WriteState({.path = options_.modes_file, .name = "mps-modes", .version = 1},
                               R"({"bootId": "boot", "gpus":)"
                               R"( [{"uuid": "GPU-1", "pci": "00000000:01:00.0", "mode": 0}]})")
                  .ok());
  runner_->BeAway();
  service_.Want({}, true);
  loop_.RunUntil([&] { return !service_.Report().empty(); });
  EXPECT_EQ(service_.Report(),
            (std::vector<model::MpsDomain>{
                {.name = "GPU-1",
                 .devices = {"GPU-1"},
                 .problem = "nobody",
                 .warning = "its compute mode is not put back to what it was before MPS: it is "
                            "not known whether its daemon runs; tried again every 5 s"}}));
}

}  // namespace
}  // namespace partita::agent::mps
