#include "agent/mps/domain_life.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "agent/mps/testing/programs.h"
#include "agent/mps/testing/scripted_runner.h"
#include "base/files.h"
#include "hw/testing/no_more_threads.h"
#include "net/testing/fake_loop.h"

namespace partita::agent::mps {
namespace {

using base::ErrorCode;
using base::Result;
using std::chrono::seconds;
using testing::Append;
using testing::ScriptedRunner;

class DomainLifeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    machine_ = {.root = directory_.data(), .boot_id = "boot", .runner = runner_};
    domain_.name = "GPU-1";
    domain_.members.resize(1);
    domain_.memory = {model::Mebibytes(2048)};
    domain_.threads = model::Percent(50);
    NewLife();
    life_->Start();
    Until("ready");
    UntilLooked();
  }
  void TearDown() override {
    life_.reset();
    runner_->EndAll();
    EXPECT_TRUE(base::RemoveTree(directory_.data()).ok());
  }
  void NewLife() {
    phases_.clear();
    life_ = std::make_unique<DomainLife>(loop_, log_, machine_, domain_, [this] {
      phases_.emplace_back(ToString(life_->condition().phase));
    });
  }
  // The daemon of the one before. It is not asked before it is adopted.
  void Adopt() {
    NewLife();
    runner_->BeDeaf(deaf_);
    const int before = runner_->asked(std::string(service::mps::kPing));
    const std::atomic<bool> stop = false;
    Result<std::vector<Seen>> seen = LookAround(machine_, stop);
    EXPECT_EQ(runner_->asked(std::string(service::mps::kPing)), before);
    ASSERT_TRUE(seen.ok());
    ASSERT_EQ(seen->size(), 1U);
    EXPECT_EQ(seen->front().found,
              (service::mps::Found{.name = "GPU-1", .running = true, .parameters = domain_}));
    EXPECT_EQ(seen->front().why, "");
    ASSERT_TRUE(seen->front().running.has_value());
    life_->Adopt(*std::move(seen->front().running));
    EXPECT_EQ(life_->condition(), (Condition{Phase::kStarting, "its daemon has not answered yet"}));
  }
  void MakeSocket() {
    const std::string pipe = service::mps::DirectoriesOf(machine_.root, "GPU-1").pipe;
    ASSERT_TRUE(Append(pipe + "/control", ""));
  }
  void Until(std::string_view phase) {
    loop_.RunUntil([&] { return ToString(life_->condition().phase) == phase; });
  }
  // Also where it has gone on meanwhile.
  void UntilHasBeen(const std::string& phase) {
    loop_.RunUntil(
        [&] { return std::find(phases_.begin(), phases_.end(), phase) != phases_.end(); });
  }
  // A look has ended: the next one waits for its time.
  void UntilLooked() {
    loop_.RunUntil([&] { return !loop_.ArmedTimers().empty(); });
  }
  [[nodiscard]] std::ptrdiff_t Told(std::string_view text) const {
    return std::count_if(told_.begin(), told_.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }
  [[nodiscard]] int looks() const { return runner_->asked("get_server_list"); }
  void Write(const std::string& line) {
    const std::string log = LogFile(service::mps::DirectoriesOf(machine_.root, "GPU-1"));
    ASSERT_TRUE(Append(log, line + "\n"));
  }

  std::array<char, 32> directory_ = {"/tmp/partita-mps.XXXXXX"};
  net::testing::FakeLoop loop_;
  std::vector<std::string> told_;
  base::Log log_{loop_.clock(), [this](std::string_view line) { told_.emplace_back(line); }};
  std::shared_ptr<ScriptedRunner> runner_ = std::make_shared<ScriptedRunner>();
  Machine machine_;
  bool deaf_ = false;  // the one that is adopted
  service::mps::Domain domain_;
  std::vector<std::string> phases_;
  std::unique_ptr<DomainLife> life_;
};

constexpr const char* kFault =
    "[2026-11-15 11:45:31.123 Server   590] Server is handling a fatal GPU error.";

TEST_F(DomainLifeTest, ADaemonThatIsSilentOnceIsForgiven) {
  runner_->BeDeaf(true);
  loop_.Advance(seconds(30));
  UntilLooked();
  runner_->BeDeaf(false);
  loop_.Advance(seconds(5));
  UntilLooked();
  EXPECT_EQ(loop_.ArmedTimers().front().second, seconds(30));
  EXPECT_EQ(runner_->started(), 1U);
  EXPECT_EQ(phases_, std::vector<std::string>{"ready"});
}

TEST_F(DomainLifeTest, ADaemonThatIsSilentTwiceIsReplaced) {
  runner_->BeDeaf(true);
  loop_.Advance(seconds(30));
  UntilLooked();
  loop_.Advance(seconds(5));
  loop_.RunUntil([&] { return runner_->started() == 2; });
  Until("ready");
  EXPECT_EQ(phases_, (std::vector<std::string>{"ready", "mending", "ready"}));
}

TEST_F(DomainLifeTest, ARunnerThatIsAwayOrStoppedEndsNoDaemon) {
  for (int i = 0; i < 6; ++i) {
    if (i == 0) runner_->BeAway();
    if (i == 3) runner_->BeStopped();
    loop_.Advance(seconds(30));
    UntilLooked();
  }
  EXPECT_EQ(runner_->started(), 1U);
  EXPECT_EQ(phases_, std::vector<std::string>{"ready"});
  EXPECT_EQ(Told("MPS domain GPU-1 cannot be asked: its daemon stays"), 1);
}

TEST_F(DomainLifeTest, ADaemonThatCannotBeAskedStaysAndThatIsToldOnce) {
  for (const ErrorCode code : {ErrorCode::kNotFound, ErrorCode::kIo, ErrorCode::kInternal}) {
    told_.clear();
    runner_->FailAt("", code);
    for (int i = 0; i < 4; ++i) {
      const int before = looks();
      loop_.Advance(seconds(30));
      loop_.RunUntil([&] { return looks() > before; });
      UntilLooked();
    }
    EXPECT_EQ(Told("MPS domain GPU-1 cannot be asked: its daemon stays"), 1);
    runner_->FailAt("", std::nullopt);
    loop_.Advance(seconds(30));
    UntilLooked();
  }
  EXPECT_EQ(runner_->started(), 1U);
  EXPECT_EQ(phases_, std::vector<std::string>{"ready"});
}

TEST_F(DomainLifeTest, ADaemonStaysWhereNoThreadIsToBeHadToAskIt) {
  for (int i = 0; i < 3; ++i) {
    const hw::testing::NoMoreThreads none;
    loop_.Advance(seconds(i == 0 ? 30 : 5));
    loop_.RunUntilIdle();
  }
  EXPECT_EQ(Told("MPS domain GPU-1 cannot be asked: its daemon stays"), 1);
  const int before = looks();
  loop_.Advance(seconds(5));
  loop_.RunUntil([&] { return looks() > before; });
  UntilLooked();
  EXPECT_EQ(Told("MPS domain GPU-1 cannot be asked: its daemon stays: over"), 1);
  EXPECT_EQ(runner_->started(), 1U);
  EXPECT_EQ(phases_, std::vector<std::string>{"ready"});
}

TEST_F(DomainLifeTest, AFaultThatNoThreadCouldLookAtIsLookedAtLater) {
  runner_->HaveServer("FAULT");
  for (int i = 0; i < 3; ++i) Write(kFault);
  {
    const hw::testing::NoMoreThreads none;
    loop_.RunUntilIdle();
    EXPECT_EQ(loop_.ArmedTimers().front().second, seconds(5));
  }
  loop_.Advance(seconds(5));
  UntilHasBeen("mending");
  Until("ready");
  EXPECT_EQ(runner_->asked("shutdown_server 77 -f"), 1);
  EXPECT_EQ(runner_->started(), 1U);
}

TEST_F(DomainLifeTest, AServerInAStateThatNobodyKnowsIsLeftAlone) {
  runner_->HaveServer("DRAINING");
  for (int i = 0; i < 3; ++i) {
    const int before = looks();
    loop_.Advance(seconds(30));
    loop_.RunUntil([&] { return looks() > before; });
    UntilLooked();
  }
  EXPECT_EQ(runner_->started(), 1U);
  EXPECT_EQ(runner_->asked("shutdown_server 77 -f"), 0);
  EXPECT_EQ(phases_, std::vector<std::string>{"ready"});
  EXPECT_EQ(Told("cannot be asked"), 0);
}

TEST_F(DomainLifeTest, AServerInFaultIsEndedOnceItsDaemonCanBeAskedAgain) {
  runner_->HaveServer("FAULT");
  runner_->FailAt("shutdown_server", ErrorCode::kNotFound);
  loop_.Advance(seconds(30));
  UntilHasBeen("mending");
  UntilLooked();
  EXPECT_EQ(ToString(life_->condition().phase), "mending");
  runner_->FailAt("", std::nullopt);
  loop_.Advance(seconds(5));
  Until("ready");
  EXPECT_EQ(runner_->asked("shutdown_server 77 -f"), 2);
  EXPECT_EQ(runner_->started(), 1U);
}

TEST_F(DomainLifeTest, AServerInFaultIsFoundWithoutALineInTheLog) {
  runner_->HaveServer("FAULT");
  loop_.Advance(seconds(30));
  UntilHasBeen("mending");
  Until("ready");
  EXPECT_EQ(runner_->asked("shutdown_server 77 -f"), 1);
  EXPECT_EQ(runner_->started(), 1U);
}

// Its daemon's word may not end it: its clients wait for the next one.
TEST_F(DomainLifeTest, AServerInFaultThatStaysIsKilledAndItsDaemonIsNot) {
  const pid_t server = testing::StartServer(service::mps::DirectoriesOf(machine_.root, "GPU-1"));
  runner_->HaveStubbornServer("FAULT", server);
  Write(kFault);
  UntilHasBeen("mending");
  Until("ready");
  EXPECT_EQ(phases_, (std::vector<std::string>{"ready", "mending", "ready"}));
  EXPECT_EQ(runner_->asked("shutdown_server " + std::to_string(server) + " -f"), 1);
  EXPECT_EQ(runner_->started(), 1U);
  int status = 0;
  ASSERT_EQ(waitpid(server, &status, 0), server);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(DomainLifeTest, ALineThatSomebodyForgedChangesNothing) {
  const int before = looks();
  Write(kFault);
  loop_.RunUntil([&] { return looks() > before; });
  UntilLooked();
  EXPECT_EQ(phases_, std::vector<std::string>{"ready"});
}

TEST_F(DomainLifeTest, WhoForgesLinesIsListenedToLessAndLess) {
  const auto forge = [this] {
    const int before = looks();
    Write(kFault);
    // Later ones change nothing.
    loop_.RunUntilIdle();
    Write(kFault);
    loop_.RunUntilIdle();
    return before;
  };
  for (const int pause : {0, 1, 2, 4, 8, 16, 30, 30}) {
    const int before = forge();
    if (pause != 0) {
      EXPECT_EQ(looks(), before);
      EXPECT_EQ(loop_.ArmedTimers().front().second, seconds(pause));
      loop_.Advance(seconds(pause));
    }
    loop_.RunUntil([&] { return looks() > before && !loop_.ArmedTimers().empty(); });
  }
  // A real one waits as long, and then all is forgiven.
  runner_->HaveServer("FAULT");
  Write(kFault);
  loop_.RunUntilIdle();
  loop_.Advance(seconds(30));
  UntilHasBeen("mending");
  Until("ready");
  UntilLooked();
  runner_->HaveServer("FAULT");
  phases_.clear();
  Write(kFault);
  UntilHasBeen("mending");
  Until("ready");
}

TEST_F(DomainLifeTest, AFaultThatIsToldOfDuringALookIsLookedAtAfterIt) {
  runner_->HangAt("GPU-1", "get_server_list");
  loop_.Advance(seconds(30));
  while (!runner_->hangs()) std::this_thread::yield();
  Write(kFault);
  loop_.RunUntilIdle();
  const int before = looks();
  runner_->GoOn();
  loop_.RunUntil([&] { return looks() > before; });
  UntilLooked();
  EXPECT_EQ(phases_, std::vector<std::string>{"ready"});
}

TEST_F(DomainLifeTest, AnEndDoesNotWaitForALook) {
  runner_->HangAt("GPU-1", "get_server_list");
  loop_.Advance(seconds(30));
  while (!runner_->hangs()) std::this_thread::yield();
  std::optional<Result<void>> end;
  life_->Stop(Stopping::kForGood, [&](const Result<void>& how) { end = how; });
  loop_.RunUntil([&] { return end.has_value(); });
  EXPECT_TRUE(end->ok());
  EXPECT_EQ(runner_->asked("quit -t 3"), 1);
}

TEST_F(DomainLifeTest, AFaultThatTheLogTellsOfIsMendedAtOnce) {
  runner_->HaveServer("FAULT");
  Write(kFault);
  UntilHasBeen("mending");
  Until("ready");
  EXPECT_EQ(runner_->asked("shutdown_server 77 -f"), 1);
}

TEST_F(DomainLifeTest, AnAdoptedDaemonIsReadyWhenItHasAnsweredWithItsLimits) {
  MakeSocket();
  Adopt();
  Until("ready");
  UntilLooked();
  EXPECT_EQ(runner_->started(), 1U);
  EXPECT_EQ(phases_, (std::vector<std::string>{"starting", "ready"}));
}

// Its agent was killed before it had ended them.
TEST_F(DomainLifeTest, AnAdoptedDaemonHasNoServerFromBeforeItsLimits) {
  const service::mps::Directories directories = service::mps::DirectoriesOf(machine_.root, "GPU-1");
  std::string why;
  std::optional<service::mps::Record> record = ReadRecord(directories, &why);
  ASSERT_TRUE(record.has_value());
  EXPECT_TRUE(record->limited);
  MakeSocket();
  runner_->HaveServer("ACTIVE");
  Adopt();
  Until("ready");
  UntilLooked();
  EXPECT_EQ(runner_->asked("shutdown_server 77 -f"), 0);

  record->limited = false;
  ASSERT_TRUE(WriteRecord(directories, *record).ok());
  Adopt();
  Until("ready");
  UntilLooked();
  EXPECT_EQ(runner_->asked("shutdown_server 77 -f"), 1);
  EXPECT_EQ(phases_, (std::vector<std::string>{"starting", "ready"}));
  EXPECT_EQ(runner_->started(), 1U);
  record->limited = true;
  EXPECT_EQ(ReadRecord(directories, &why), record);
}

TEST_F(DomainLifeTest, ARecordDoesNotSayThatThereAreLimitsBeforeThereAre) {
  runner_->HangAt("GPU-1", "get_server_list");
  runner_->EndAll();
  while (!runner_->hangs()) loop_.RunUntilIdle();
  std::string why;
  const auto record = ReadRecord(service::mps::DirectoriesOf(machine_.root, "GPU-1"), &why);
  ASSERT_TRUE(record.has_value()) << why;
  EXPECT_FALSE(record->limited);
  runner_->GoOn();
  Until("ready");
}

// Those who have shares wait for one that was ready; for another nobody does.
TEST_F(DomainLifeTest, OneThatWasReadyIsStartedWithin4SecondsHoweverOftenItDies) {
  const auto until_waits = [this](int pause) {
    if (pause != 0) {
      loop_.RunUntil([&] {
        return ToString(life_->condition().phase) == "waiting" && !loop_.ArmedTimers().empty();
      });
      EXPECT_EQ(loop_.ArmedTimers().front().second, seconds(pause));
    }
    loop_.Advance(seconds(pause));
  };
  for (const int pause : {0, 1, 2, 4, 4, 4}) {
    const std::size_t before = runner_->started();
    runner_->EndAll();
    until_waits(pause);
    loop_.RunUntil([&] { return runner_->started() > before; });
    Until("ready");
    UntilLooked();
  }
  runner_->FailAt("", ErrorCode::kIo);
  runner_->EndAll();
  for (const int pause : {4, 30, 30}) until_waits(pause);
}

TEST_F(DomainLifeTest, AnAdoptedDaemonThatStaysSilentIsReplaced) {
  MakeSocket();
  deaf_ = true;
  Adopt();
  UntilLooked();
  loop_.Advance(seconds(5));
  loop_.RunUntil([&] { return runner_->started() == 2; });
  Until("ready");
  EXPECT_EQ(phases_, (std::vector<std::string>{"starting", "mending", "ready"}));
}

TEST_F(DomainLifeTest, AnAdoptedDaemonThatNoClientReachesIsReplaced) {
  Adopt();
  UntilLooked();
  loop_.Advance(seconds(5));
  loop_.RunUntil([&] { return runner_->started() == 2; });
  Until("ready");
  EXPECT_EQ(phases_, (std::vector<std::string>{"starting", "mending", "ready"}));
}

TEST_F(DomainLifeTest, AnAdoptedDaemonWithoutItsLimitsIsNeverReady) {
  runner_->HaveThreads("100.0");
  MakeSocket();
  Adopt();
  UntilHasBeen("mending");
  Until("ready");
  EXPECT_EQ(runner_->started(), 2U);
  EXPECT_EQ(phases_, (std::vector<std::string>{"starting", "mending", "ready"}));
}

TEST_F(DomainLifeTest, LimitsAreSetTogetherAndReadBackTogether) {
  EXPECT_EQ(runner_->asked_together(), 2);
  for (const char* command :
       {"set_default_device_pinned_mem_limit 0 2048M", "set_default_active_thread_percentage 50",
        "get_default_device_pinned_mem_limit 0", "get_default_active_thread_percentage"}) {
    EXPECT_EQ(runner_->asked(command), 1) << command;
  }
}

TEST_F(DomainLifeTest, LimitsAreInForceWhereOneCommandIsTakenAtATime) {
  runner_->TakeOne();
  runner_->EndAll();
  loop_.RunUntil([&] { return runner_->started() == 2; });
  Until("ready");
  EXPECT_EQ(runner_->asked("set_default_active_thread_percentage 50"), 2);
  EXPECT_EQ(runner_->asked("get_default_active_thread_percentage"), 3);
}

TEST_F(DomainLifeTest, AServerThatCameBeforeTheLimitsEnds) {
  runner_->HaveServer("ACTIVE");
  runner_->EndAll();
  loop_.RunUntil([&] { return runner_->started() == 2; });
  Until("ready");
  EXPECT_EQ(runner_->asked("shutdown_server 77 -f"), 1);
}

// What answers in a pipe directory may name any process as its server, and there are other domains.
TEST_F(DomainLifeTest, AServerOfAnotherDirectoryLivesOn) {
  const std::string program = testing::MakeProgram(directory_.data(), "nvidia-cuda-mps-server");
  const pid_t other = fork();
  if (other == 0) {
    char variable[] = "CUDA_MPS_PIPE_DIRECTORY=/elsewhere";
    char* environment[] = {variable, nullptr};
    execle(program.c_str(), "nvidia-cuda-mps-server", "100", nullptr, environment);
    _exit(127);
  }
  ASSERT_TRUE(testing::AwaitProgram(other, "nvidia-cuda-mps-server"));
  runner_->EndAll();
  loop_.RunUntil([&] { return runner_->started() == 2; });
  Until("ready");
  UntilLooked();
  runner_->HaveServer("ACTIVE", other);
  const std::atomic<bool> stop = false;
  EXPECT_TRUE(EndServers(machine_, "GPU-1", {model::Pid(other)}, stop).ok());
  EXPECT_TRUE(StopDaemon(machine_, "GPU-1", Stopping::kForGood, stop).ok());
  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0);
  kill(other, SIGKILL);
  EXPECT_EQ(waitpid(other, nullptr, 0), other);
}

TEST_F(DomainLifeTest, AnEndThatIsToldToStopLeavesTheRestToTheNextAgent) {
  runner_->FailAt("quit", ErrorCode::kIo);
  const std::atomic<bool> stop = true;
  const Result<void> end = StopDaemon(machine_, "GPU-1", Stopping::kForGood, stop);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().ToString(), "the MPS control daemon of GPU-1 was not waited for");
  loop_.RunUntilIdle();
  EXPECT_EQ(ToString(life_->condition().phase), "ready") << "nobody killed it";
  Adopt();
}

}  // namespace
}  // namespace partita::agent::mps
