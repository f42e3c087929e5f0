#include "agent/agent.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "agent/control/control_client.h"
#include "base/files.h"
#include "net/testing/fake_loop.h"

namespace partita::agent {
namespace {

using base::Value;
using std::chrono::seconds;

class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-agent-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    WriteConfig("version: partita/v1\nlisten: unix:" + directory_ + "/http\n");
  }
  void TearDown() override {
    agent_.reset();
    (void)base::RemoveTree(directory_);
  }
  void WriteConfig(const std::string& text) const {
    PARTITA_CHECK(base::WriteFile(directory_ + "/config.yaml", text, 0644).ok());
  }
  [[nodiscard]] AgentOptions Options() const {
    // A machine without anything: this one may have a driver.
    const config::Origin flag{config::OriginKind::kFlag, "--host-root"};
    return {
        .config = {directory_ + "/config.yaml",
                   true,
                   {{"node.hostRoot", directory_, flag}, {"node.driverRoot", directory_, flag}}},
        .run_directory = directory_ + "/run",
        .state_directory = directory_ + "/state",
        .version = "1.2.3",
        .text_format = base::LogFormat::kJournal};
  }
  Agent& Start() {
    ended_.clear();
    agent_.emplace(loop_, log_, Notifier("", seconds(30)), Options());
    agent_->Start([this](const base::Result<void>& end) {
      ended_ = end.ok() ? "ok" : end.error().ToString();
    });
    loop_.RunUntil([this] { return agent_->running() || !ended_.empty(); });
    return *agent_;
  }
  [[nodiscard]] std::string Socket() const { return directory_ + "/run/agent.sock"; }

  std::string directory_;
  net::testing::FakeLoop loop_;
  std::string lines_;
  base::Log log_{loop_.clock(), [this](std::string_view line) { lines_ += line; }};
  std::optional<Agent> agent_;
  std::string ended_;
};

TEST_F(AgentTest, StartsServesAndLeavesNothingBehind) {
  Agent& agent = Start();
  EXPECT_TRUE(agent.readiness().ready()) << lines_;
  struct stat status {};
  ASSERT_EQ(lstat(Socket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_TRUE(base::Exists(directory_ + "/http"));
  loop_.Raise(SIGTERM);
  loop_.RunUntilIdle();
  EXPECT_EQ(ended_, "ok");
  EXPECT_FALSE(base::Exists(Socket()));
  EXPECT_FALSE(base::Exists(directory_ + "/http"));
  EXPECT_EQ(base::ReadFile(directory_ + "/run/agent.lock").value(), "");
  EXPECT_TRUE(loop_.ArmedTimers().empty());
}

// docs/threads.md has the table of timers.
TEST_F(AgentTest, RestsButForOneLookEachHalfMinute) {
  Start();
  const auto count = [this](const std::string& name) {
    for (const net::WakeUps& each : loop_.CountWakeUps())
      if (each.name == name) return each.count;
    return std::uint64_t{0};
  };
  loop_.Advance(seconds(1));  // what the start wrote behind
  const std::uint64_t before = count("look"), flushed = count("ledger-flush");
  for (int i = 0; i < 120; ++i) {
    loop_.Advance(seconds(30));
    loop_.RunUntil([this] { return !agent_->node().live().looking(); });
    ASSERT_EQ(loop_.ArmedTimers(),
              (std::vector<std::pair<std::string, net::Duration>>{{"look", seconds(29)}}));
  }
  EXPECT_EQ(count("look"), before + 120);
  EXPECT_EQ(count("ledger-flush"), flushed);
}

TEST_F(AgentTest, WaitsForTheAgentThatRuns) {
  Start();
  std::optional<Agent> second;
  std::string second_ended;
  second.emplace(loop_, log_, Notifier(""), Options());
  second->Start([&](const base::Result<void>& end) {
    second_ended = end.ok() ? "ok" : end.error().ToString();
  });
  loop_.Advance(seconds(60));
  EXPECT_NE(lines_.find("(partita agent), the agent that runs here"), std::string::npos) << lines_;
  EXPECT_FALSE(second->readiness().ready());
  agent_->Stop();
  loop_.Advance(seconds(1));
  EXPECT_EQ(ended_, "ok");
  loop_.RunUntil([&] { return second->running(); });
  EXPECT_TRUE(second->readiness().ready()) << lines_;
  EXPECT_TRUE(base::Exists(Socket()));
  second->Stop();
  loop_.RunUntilIdle();
  EXPECT_EQ(second_ended, "ok");
}

TEST_F(AgentTest, CanBeStoppedWhileItWaits) {
  Start();
  std::optional<Agent> second;
  std::string second_ended;
  second.emplace(loop_, log_, Notifier(""), Options());
  second->Start([&](const base::Result<void>& end) { second_ended = end.ok() ? "ok" : "no"; });
  loop_.Advance(seconds(1));
  second->Stop();
  loop_.RunUntilIdle();
  EXPECT_EQ(second_ended, "ok");
  EXPECT_TRUE(base::Exists(Socket()));
}

TEST_F(AgentTest, UndoesWhatItBeganWhereAStepFails) {
  ASSERT_TRUE(base::WriteFile(directory_ + "/http", "in the way", 0600).ok());
  Start();
  EXPECT_EQ(ended_, "http: listen: listen on " + directory_ +
                        "/http: something else than a socket is there");
  EXPECT_FALSE(base::Exists(Socket()));
  EXPECT_EQ(base::ReadFile(directory_ + "/run/agent.lock").value(), "");
  EXPECT_TRUE(loop_.ArmedTimers().empty());
}

TEST_F(AgentTest, TakesAGoodConfigurationInPlace) {
  Agent& agent = Start();
  WriteConfig("version: partita/v1\nlisten: unix:" + directory_ +
              "/other\nlog: {level: warn, format: json}\n");
  const auto changed = agent.Reload();
  ASSERT_TRUE(changed.ok()) << changed.error().ToString();
  EXPECT_EQ(*changed, (std::vector<std::string>{"listen", "log.format", "log.level"}));
  EXPECT_FALSE(base::Exists(directory_ + "/http"));
  EXPECT_TRUE(base::Exists(directory_ + "/other"));
  lines_.clear();
  log_.Info("not heard");
  log_.Warn("heard");
  EXPECT_TRUE(lines_.starts_with("{\"time\"")) << lines_;
}

TEST_F(AgentTest, KeepsWhatRunsWhereTheConfigurationIsBad) {
  Agent& agent = Start();
  const config::AgentConfig before = agent.config();
  WriteConfig("version: partita/v1\nlisten: \"\"\nlog: {level: loud}\n");
  loop_.Raise(SIGHUP);
  loop_.RunUntilIdle();
  EXPECT_EQ(agent.config(), before);
  EXPECT_TRUE(agent.readiness().ready());
  EXPECT_TRUE(base::Exists(directory_ + "/http"));
  EXPECT_NE(lines_.find("<3>bad configuration: the one before stays in force"), std::string::npos);
  EXPECT_NE(lines_.find("config.yaml:3:14"), std::string::npos) << lines_;
  // One that is right and cannot be carried out: nothing of it is.
  ASSERT_TRUE(base::WriteFile(directory_ + "/taken", "", 0600).ok());
  WriteConfig("version: partita/v1\nlisten: unix:" + directory_ + "/taken\nlog: {level: error}\n");
  EXPECT_FALSE(agent.Reload().ok());
  lines_.clear();
  log_.Info("still heard");
  EXPECT_NE(lines_, "");
  // A restart with the bad file serves as before.
  agent.Stop();
  loop_.RunUntilIdle();
  WriteConfig("bad");
  Start();
  EXPECT_EQ(agent_->config().listen.value, before.listen.value);
  EXPECT_TRUE(agent_->readiness().ready());
}

TEST_F(AgentTest, RunsUnreadyWhereNoGoodConfigurationIsKnown) {
  WriteConfig("bad");
  AgentOptions options = Options();
  options.config.overrides.push_back(
      {"listen", "unix:" + directory_ + "/http", {config::OriginKind::kFlag, "--listen"}});
  agent_.emplace(loop_, log_, Notifier(""), options);
  agent_->Start([](const base::Result<void>&) { FAIL(); });
  loop_.RunUntil([this] { return agent_->running(); });
  EXPECT_FALSE(agent_->readiness().ready());
  EXPECT_EQ(
      agent_->readiness().Text(),
      "[-] config: " + directory_ +
          "/config.yaml is bad and no good one is known\n[+] inventory\n[+] ledger\nnot ready\n");
  WriteConfig("version: partita/v1\n");
  ASSERT_TRUE(agent_->Reload().ok());
  EXPECT_TRUE(agent_->readiness().ready());
}

TEST_F(AgentTest, AnswersOverItsSocket) {
  Start();
  std::atomic<bool> done = false;
  std::thread client([&] {
    auto connected = control::Client::Connect(Socket());
    PARTITA_CHECK(connected.ok());
    const auto state = connected->Call("agent.state", Value::Map(), {.patience = seconds(60)});
    EXPECT_TRUE(state.ok());
    EXPECT_EQ(state.ok() ? state->Find("version")->AsString() : "", "1.2.3");
    EXPECT_EQ(state.ok() ? base::ToJson(*state->Find("ledger")) : "",
              "{\n  \"holds\": 0,\n  \"claims\": 0,\n  \"plans\": 0,\n  \"foreign\": 0\n}\n");
    const auto ledger = connected->Call("ledger", Value::Map(), {.patience = seconds(60)});
    EXPECT_TRUE(ledger.ok() && ledger->Find("devices") != nullptr);
    const auto reloaded = connected->Call("reload", Value::Map(), {.patience = seconds(60)});
    EXPECT_TRUE(reloaded.ok());
    done = true;
    loop_.Post([] {});
  });
  loop_.RunUntil([&] { return done.load(); });
  client.join();
}

}  // namespace
}  // namespace partita::agent
