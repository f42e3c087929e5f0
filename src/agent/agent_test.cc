#include "agent/agent.h"

#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "agent/agent_fixture.h"
#include "agent/control/control_client.h"
#include "base/files.h"

namespace partita::agent {
namespace {

using base::Value;
using std::chrono::seconds;

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

// As NVIDIA's plugin, whose name it may have.
TEST_F(AgentTest, EndsAtAnySignalThatAsksForIt) {
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT}) {
    Start();
    loop_.Raise(signal);
    loop_.RunUntil([this] { return !ended_.empty(); });
    EXPECT_EQ(ended_, "ok") << signal;
  }
  EXPECT_NE(lines_.find("SIGQUIT"), std::string::npos) << lines_;
}

TEST_F(AgentTest, WritesNothingAtAStartThatFindsAllAsItWas) {
  Start();
  agent_->Stop();
  loop_.RunUntil([this] { return !ended_.empty(); });
  const auto files = [this] {
    std::map<std::string, std::filesystem::file_time_type> all;
    for (const auto& each : std::filesystem::recursive_directory_iterator(directory_ + "/state"))
      if (each.is_regular_file()) all[each.path()] = each.last_write_time();
    return all;
  };
  const auto before = files();
  EXPECT_FALSE(before.empty());
  Start();
  EXPECT_EQ(files(), before);
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
  loop_.RunUntil([&] { return !ended_.empty(); });
  loop_.Advance(seconds(1));
  EXPECT_EQ(ended_, "ok");
  loop_.RunUntil([&] { return second->running(); });
  EXPECT_TRUE(second->readiness().ready()) << lines_;
  EXPECT_TRUE(base::Exists(Socket()));
  second->Stop();
  loop_.RunUntilIdle();
  EXPECT_EQ(second_ended, "ok");
}

// One that is reached at another place would write the same ledger.
TEST_F(AgentTest, WaitsForTheAgentThatKeepsItsStateThere) {
  Start();
  AgentOptions elsewhere = Options();
  elsewhere.run_directory = directory_ + "/elsewhere";
  elsewhere.config.overrides.push_back({"listen", "", {config::OriginKind::kFlag, "--listen"}});
  std::optional<Agent> second;
  second.emplace(loop_, log_, Notifier(""), elsewhere);
  second->Start([](const base::Result<void>&) {});
  loop_.Advance(seconds(60));
  EXPECT_NE(lines_.find("and keeps its state in " + directory_ + "/state"), std::string::npos)
      << lines_;
  EXPECT_FALSE(second->running());
  agent_->Stop();
  loop_.RunUntil([&] { return !ended_.empty(); });
  loop_.Advance(seconds(1));
  loop_.RunUntil([&] { return second->running(); });
  second->Stop();
  loop_.RunUntilIdle();
}

TEST_F(AgentTest, IsReachedAgainWhereItsRunDirectoryWasRemoved) {
  Start();
  ASSERT_TRUE(base::RemoveTree(directory_ + "/run").ok());
  loop_.Advance(seconds(30));
  loop_.RunUntil([this] { return !agent_->node().live().looking(); });
  EXPECT_TRUE(base::Exists(Socket())) << lines_;
  EXPECT_NE(base::ReadFile(directory_ + "/run/agent.lock").value(), "");
  EXPECT_NE(lines_.find("the control socket was removed: it is there again"), std::string::npos);
  agent_->Stop();
  loop_.RunUntilIdle();
  EXPECT_EQ(ended_, "ok");
  EXPECT_FALSE(base::Exists(Socket()));
}

TEST_F(AgentTest, EndsWhereAnotherBeganWhenItsLockWasRemoved) {
  Start();
  ASSERT_TRUE(base::RemoveTree(directory_ + "/run").ok());
  std::optional<Agent> second;
  second.emplace(loop_, log_, Notifier(""), Options());
  second->Start([](const base::Result<void>&) {});
  loop_.RunUntilIdle();
  EXPECT_FALSE(second->running()) << "the state is the first one's";
  loop_.Advance(seconds(31));
  // Its threads end in their own time, and the other looks for its lock in the clock's.
  loop_.RunUntil([&] { return !ended_.empty(); });
  loop_.Advance(seconds(1));
  loop_.RunUntil([&] { return second->running(); });
  EXPECT_EQ(ended_, "ok");
  EXPECT_NE(lines_.find("another agent has it now: this one ends"), std::string::npos) << lines_;
  second->Stop();
  loop_.RunUntilIdle();
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
