#include "agent/mps/daemon.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include <gtest/gtest.h>

#include "agent/mps/servers.h"
#include "agent/mps/testing/held_socket.h"
#include "agent/mps/testing/scripted_runner.h"
#include "base/files.h"

namespace partita::agent::mps {
namespace {

using base::ErrorCode;
using service::mps::Directories;
using service::mps::DirectoriesOf;

constexpr const char* kMig = "MIG-1";

// Daemons that listen and of which no record tells.
class DaemonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    machine_ = {.root = directory_.data(), .boot_id = "boot", .runner = runner_};
    domain_.name = kMig;
    domain_.members.resize(1);
    domain_.memory = {model::Mebibytes(2048)};
    domain_.threads = model::Percent(50);
    directories_ = DirectoriesOf(machine_.root, kMig);
    ASSERT_TRUE(StartDaemon(machine_, domain_, stop_).ok());
    RemoveRecord(directories_);
    socket_ = testing::HoldSocket(directories_.pipe + "/control");
  }
  void TearDown() override {
    runner_->EndAll();
    EXPECT_TRUE(base::RemoveTree(directory_.data()).ok());
  }
  [[nodiscard]] bool IsSeenRunning() const {
    const auto seen = LookAround(machine_, stop_);
    return seen.ok() && seen->size() == 1 && seen->front().found.running;
  }

  std::array<char, 32> directory_ = {"/tmp/partita-mps.XXXXXX"};
  std::shared_ptr<testing::ScriptedRunner> runner_ = std::make_shared<testing::ScriptedRunner>();
  Machine machine_;
  service::mps::Domain domain_;
  Directories directories_;
  base::UniqueFd socket_;
  const std::atomic<bool> stop_ = false;
};

// A stopped one takes questions and answers none.
TEST_F(DaemonTest, ThatIsSilentHasNotEnded) {
  runner_->BeDeaf(true);
  EXPECT_TRUE(IsSeenRunning());
  const auto end = StopDaemon(machine_, kMig, Stopping::kForGood, stop_);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code(), ErrorCode::kConflict);
  EXPECT_FALSE(StartDaemon(machine_, domain_, stop_).ok());
  EXPECT_EQ(runner_->started(), 1U) << "there are two";
}

TEST_F(DaemonTest, ThatCannotBeAskedStaysWithItsServers) {
  const pid_t server = testing::StartServer(directories_);
  for (const ErrorCode code : {ErrorCode::kNotFound, ErrorCode::kIo, ErrorCode::kInternal}) {
    runner_->FailAt("", code);
    const auto start = StartDaemon(machine_, domain_, stop_);
    ASSERT_FALSE(start.ok());
    EXPECT_EQ(start.error().code(), code);
    const auto end = StopDaemon(machine_, kMig, Stopping::kForGood, stop_);
    ASSERT_FALSE(end.ok());
    EXPECT_EQ(end.error().code(), code);
    EXPECT_EQ(runner_->started(), 1U) << "there are two";
    EXPECT_TRUE(IsSeenRunning());
    EXPECT_TRUE(RemoveGone(machine_, {}, stop_).names.empty());
    EXPECT_TRUE(OpenServer(model::Pid(server), directories_).ok()) << "it was ended";
  }
  kill(server, SIGKILL);
  EXPECT_EQ(waitpid(server, nullptr, 0), server);
}

TEST_F(DaemonTest, IsNotGivenUpWhereItsRunnerIsAwayAndThatIsTold) {
  runner_->BeAway();
  const Removed removed = RemoveGone(machine_, {}, stop_);
  EXPECT_TRUE(removed.names.empty());
  ASSERT_EQ(removed.failed.size(), 1U);
  EXPECT_EQ(removed.failed.front().ToString(), "nobody");
}

// So that those who hold shares get them again; and no other is started before it has answered.
TEST_F(DaemonTest, ThatCannotBeAskedIsWhatItsRecordSays) {
  const service::mps::Process ended{
      .pid = model::Pid(getpid()), .start_time = 1, .boot_id = "boot"};
  ASSERT_TRUE(WriteRecord(directories_, {.domain = domain_, .process = ended}).ok());
  runner_->FailAt("", ErrorCode::kIo);
  const auto seen = LookAround(machine_, stop_);
  ASSERT_TRUE(seen.ok());
  ASSERT_EQ(seen->size(), 1U);
  EXPECT_EQ(seen->front().why, "");
  EXPECT_EQ(seen->front().found,
            (service::mps::Found{.name = kMig, .running = false, .parameters = domain_}));
  EXPECT_FALSE(StartDaemon(machine_, domain_, stop_).ok());
  EXPECT_EQ(runner_->started(), 1U) << "there are two";
}

// The program that would ask it has a package of its own.
TEST_F(DaemonTest, ThatHasEndedIsForgottenWithoutTheProgramThatAsks) {
  const service::mps::Process ended{
      .pid = model::Pid(getpid()), .start_time = 1, .boot_id = "boot"};
  ASSERT_TRUE(WriteRecord(directories_, {.domain = domain_, .process = ended}).ok());
  runner_->FailAt("", ErrorCode::kNotFound);
  EXPECT_FALSE(StopDaemon(machine_, kMig, Stopping::kForGood, stop_).ok()) << "it may be there";
  socket_.Reset();
  EXPECT_TRUE(base::Exists(directories_.pipe + "/control")) << "as after a SIGKILL";
  EXPECT_TRUE(StopDaemon(machine_, kMig, Stopping::kForGood, stop_).ok());
  EXPECT_FALSE(base::Exists(directories_.record));
}

TEST_F(DaemonTest, ThatWasEndedWithoutAnyoneIsNone) {
  runner_->FailAt("", ErrorCode::kUnavailable);
  EXPECT_FALSE(IsSeenRunning());
  EXPECT_TRUE(StopDaemon(machine_, kMig, Stopping::kForGood, stop_).ok());
  EXPECT_EQ(RemoveGone(machine_, {}, stop_).names, std::vector<std::string>{kMig});
}

}  // namespace
}  // namespace partita::agent::mps
