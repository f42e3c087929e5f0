#include "agent/mps/domain_life.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include "agent/mps/control.h"
#include "agent/mps/known_process.h"
#include "base/files.h"
#include "net/testing/fake_loop.h"

namespace partita::agent::mps {
namespace {

using base::ErrorCode;
using base::Result;
using std::chrono::seconds;

bool Append(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::app);
  file << text;
  return file.good();
}

// Real processes by the daemon's name, which say what the test has them say.
class ScriptedRunner final : public Runner {
 public:
  Result<model::Pid> Start(const Launch& launch, const std::atomic<bool>& /*stop*/) override {
    const pid_t pid = fork();
    if (pid == 0) {
      // Whoever reads what the test says does not wait for this one's end.
      for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) close(descriptor);
      execl("/bin/sleep", "nvidia-cuda-mps-control", "100", nullptr);
      _exit(127);
    }
    while (!OpenProgram(model::Pid(pid), kControlProgram).ok()) {
    }
    EXPECT_TRUE(Append(launch.output, ""));
    const std::lock_guard lock(mutex_);
    started_.push_back(pid);
    deaf_ = false;
    return model::Pid(pid);
  }
  Result<std::string> Ask(const service::mps::Directories& /*directories*/,
                          std::string_view command,
                          const std::atomic<bool>* /*stop*/) const override {
    const std::lock_guard lock(mutex_);
    ++asked_[std::string(command)];
    if (deaf_) return base::MakeError(ErrorCode::kTimeout, "no answer");
    if (started_.empty()) return base::MakeError(ErrorCode::kUnavailable, "nobody");
    if (command.starts_with("quit")) kill(started_.back(), SIGKILL);
    if (command.starts_with("shutdown_server")) servers_.clear();
    if (command == service::mps::kListServers) return servers_.empty() ? "" : servers_ + "\n";
    if (command.starts_with("get_server_status"))
      return servers_.empty() ? "Server 77 not found\n" : state_ + "\n";
    if (command.starts_with("get_default_device_pinned_mem_limit")) return std::string("2G\n");
    return std::string("50.0\n");
  }
  Result<void> MountShm(const std::string& /*path*/) override { return {}; }
  void UnmountShm(const std::string& /*path*/) override {}
  Result<void> Reachable() const override {
    const std::lock_guard lock(mutex_);
    if (!away_) return {};
    return base::MakeError(ErrorCode::kUnavailable, "nobody");
  }

  void BeAway() {
    const std::lock_guard lock(mutex_);
    away_ = deaf_ = true;
  }
  void BeDeaf(bool deaf) {
    const std::lock_guard lock(mutex_);
    deaf_ = deaf;
  }
  void HaveServer(std::string state) {
    const std::lock_guard lock(mutex_);
    servers_ = "77";
    state_ = std::move(state);
  }
  int asked(const std::string& command) const {
    const std::lock_guard lock(mutex_);
    return asked_[command];
  }
  std::size_t started() const {
    const std::lock_guard lock(mutex_);
    return started_.size();
  }
  void EndAll() {
    for (const pid_t pid : started_) kill(pid, SIGKILL);
  }

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::string, int> asked_;
  std::vector<pid_t> started_;
  bool deaf_ = false;
  bool away_ = false;
  mutable std::string servers_;
  std::string state_;
};

class DomainLifeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    machine_ = {.root = directory_.data(), .boot_id = "boot", .runner = runner_};
    service::mps::Domain domain;
    domain.name = "GPU-1";
    domain.members.resize(1);
    domain.memory = {model::Mebibytes(2048)};
    domain.threads = model::Percent(50);
    life_ = std::make_unique<DomainLife>(loop_, log_, machine_, domain, [this] {
      phases_.emplace_back(ToString(life_->condition().phase));
    });
    life_->Start();
    Until("ready");
    UntilLooked();
  }
  void TearDown() override {
    life_.reset();
    runner_->EndAll();
    EXPECT_TRUE(base::RemoveTree(directory_.data()).ok());
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
  [[nodiscard]] int looks() const { return runner_->asked("get_server_list"); }
  void Write(const std::string& line) {
    const std::string log = LogFile(service::mps::DirectoriesOf(machine_.root, "GPU-1"));
    ASSERT_TRUE(Append(log, line + "\n"));
  }

  std::array<char, 32> directory_ = {"/tmp/partita-mps.XXXXXX"};
  net::testing::FakeLoop loop_;
  base::Log log_{loop_.clock(), [](std::string_view) {}};
  std::shared_ptr<ScriptedRunner> runner_ = std::make_shared<ScriptedRunner>();
  Machine machine_;
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

TEST_F(DomainLifeTest, ARunnerThatIsAwayEndsNoDaemon) {
  runner_->BeAway();
  for (int i = 0; i < 3; ++i) {
    loop_.Advance(seconds(30));
    UntilLooked();
  }
  EXPECT_EQ(runner_->started(), 1U);
  EXPECT_EQ(phases_, std::vector<std::string>{"ready"});
}

TEST_F(DomainLifeTest, AServerInFaultIsFoundWithoutALineInTheLog) {
  runner_->HaveServer("FAULT");
  loop_.Advance(seconds(30));
  UntilHasBeen("mending");
  Until("ready");
  EXPECT_EQ(runner_->asked("shutdown_server 77 -f"), 1);
  EXPECT_EQ(runner_->started(), 1U);
}

TEST_F(DomainLifeTest, ALineThatSomebodyForgedChangesNothing) {
  const int before = looks();
  Write(kFault);
  loop_.RunUntil([&] { return looks() > before; });
  UntilLooked();
  EXPECT_EQ(phases_, std::vector<std::string>{"ready"});
}

TEST_F(DomainLifeTest, AFaultThatTheLogTellsOfIsMendedAtOnce) {
  runner_->HaveServer("FAULT");
  Write(kFault);
  UntilHasBeen("mending");
  Until("ready");
  EXPECT_EQ(runner_->asked("shutdown_server 77 -f"), 1);
}

TEST_F(DomainLifeTest, AServerThatCameBeforeTheLimitsEnds) {
  runner_->HaveServer("ACTIVE");
  runner_->EndAll();
  loop_.RunUntil([&] { return runner_->started() == 2; });
  Until("ready");
  EXPECT_EQ(runner_->asked("shutdown_server 77 -f"), 1);
}

}  // namespace
}  // namespace partita::agent::mps
