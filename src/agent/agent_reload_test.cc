// An agent whose configuration becomes another while it runs.

#include <signal.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "agent/agent_fixture.h"
#include "base/files.h"

namespace partita::agent {
namespace {

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
  EXPECT_EQ(agent_->readiness().Text(),
            "[-] config: " + directory_ +
                "/config.yaml is bad and no good one is known\n[+] inventory (no driver "
                "answers)\n[+] ledger\nnot ready\n");
  WriteConfig("version: partita/v1\n");
  ASSERT_TRUE(agent_->Reload().ok());
  EXPECT_TRUE(agent_->readiness().ready());
}

// A file that is watched: no signal, no command.
class AgentWatches : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    Start();
  }
  [[nodiscard]] static std::string Level(const std::string& level) {
    return "version: partita/v1\nlisten: \"\"\nlog: {level: " + level + "}\n";
  }
  // What the kernel tells, and the moment after it.
  void Hear() {
    loop_.RunUntilIdle();
    loop_.Advance(std::chrono::milliseconds(100));
  }
  [[nodiscard]] std::size_t Reloads() const {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = lines_.find("configuration reloaded", at)) != std::string::npos;)
      ++count, ++at;
    return count;
  }
  [[nodiscard]] const std::string& level() const { return agent_->config().log_level.value; }
};

TEST_F(AgentWatches, AFileThatIsWrittenInPlace) {
  WriteConfig(Level("debug"));
  Hear();
  EXPECT_EQ(level(), "debug") << lines_;
  // The same bytes again, and a file beside it.
  WriteConfig(Level("debug"));
  Hear();
  ASSERT_TRUE(base::WriteFile(directory_ + "/mig.yaml", "", 0644).ok());
  Hear();
  EXPECT_EQ(Reloads(), 1U) << lines_;
}

TEST_F(AgentWatches, AFileThatIsRenamedOver) {
  const std::string fresh = directory_ + "/config.yaml.new";
  ASSERT_TRUE(base::WriteFile(fresh, Level("debug"), 0644).ok());
  std::filesystem::rename(fresh, directory_ + "/config.yaml");
  Hear();
  EXPECT_EQ(level(), "debug") << lines_;
  EXPECT_EQ(Reloads(), 1U) << "one for both steps";
  // As an editor does that keeps the old one beside it.
  std::filesystem::rename(directory_ + "/config.yaml", directory_ + "/config.yaml~");
  WriteConfig(Level("info"));
  Hear();
  EXPECT_EQ(level(), "info");
}

// As kubelet renews a mounted ConfigMap: the file is a link through ..data, which is turned.
TEST_F(AgentWatches, AMountedConfigMap) {
  const std::filesystem::path mount = directory_ + "/mounted";
  const auto version = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories(mount / name);
    ASSERT_TRUE(base::WriteFile(mount / name / "config.yaml", text, 0644).ok());
    std::filesystem::create_directory_symlink(name, mount / "..data_tmp");
    std::filesystem::rename(mount / "..data_tmp", mount / "..data");
  };
  version("..1", Level("debug"));
  std::filesystem::create_symlink("..data/config.yaml", mount / "config.yaml");
  agent_->Stop();
  loop_.RunUntilIdle();
  AgentOptions options = Options();
  options.config.path = mount / "config.yaml";
  agent_.emplace(loop_, log_, Notifier(""), options);
  agent_->Start([](const base::Result<void>&) {});
  loop_.RunUntil([this] { return agent_->running(); });
  ASSERT_EQ(level(), "debug");
  version("..2", Level("warn"));
  std::filesystem::remove_all(mount / "..1");
  Hear();
  EXPECT_EQ(level(), "warn") << lines_;
}

TEST_F(AgentWatches, BadContentAndItsMending) {
  WriteConfig(Level("loud"));
  Hear();
  EXPECT_EQ(level(), "info");
  EXPECT_NE(lines_.find("<3>bad configuration: the one before stays in force"), std::string::npos)
      << lines_;
  EXPECT_TRUE(agent_->readiness().ready()) << "what was served is served";
  EXPECT_NE(agent_->readiness().Text().find(
                "[+] config (the last good one is in force: " + directory_ + "/config.yaml:3:14"),
            std::string::npos)
      << agent_->readiness().Text();
  EXPECT_TRUE(agent_->readiness().Summary().starts_with("running; config: the last good one"));
  WriteConfig(Level("error"));
  Hear();
  EXPECT_EQ(level(), "error");
  EXPECT_TRUE(agent_->readiness().Text().starts_with("[+] config\n"));
}

TEST_F(AgentWatches, AFileThatGoesAndComesBack) {
  std::filesystem::remove(directory_ + "/config.yaml");
  Hear();
  // It was named, so it must be there.
  EXPECT_NE(agent_->readiness().Text().find("[+] config (the last good one"), std::string::npos)
      << agent_->readiness().Text();
  WriteConfig(Level("warn"));
  Hear();
  EXPECT_EQ(level(), "warn");
}

TEST_F(AgentWatches, AChangeThatCameWhileItStarted) {
  agent_->Stop();
  loop_.RunUntilIdle();
  agent_.emplace(loop_, log_, Notifier(""), Options());
  agent_->Start([](const base::Result<void>&) {});
  loop_.RunUntil([this] { return agent_->readiness().checks()[0].problem.empty(); });
  WriteConfig(Level("debug"));
  loop_.RunUntil([this] { return agent_->running(); });
  Hear();
  EXPECT_EQ(level(), "debug") << lines_;
}

TEST_F(AgentTest, RefusesOtherRootsWhileItRuns) {
  AgentOptions options = Options();
  options.config.overrides = {
      {"node.hostRoot", directory_, {config::OriginKind::kFlag, "--host-root"}}};
  WriteConfig("version: partita/v1\nlisten: \"\"\nnode: {driverRoot: " + directory_ + "}\n");
  agent_.emplace(loop_, log_, Notifier(""), options);
  agent_->Start([](const base::Result<void>&) {});
  loop_.RunUntil([this] { return agent_->running(); });
  WriteConfig(
      "version: partita/v1\nlisten: \"\"\nnode: {driverRoot: /run/nvidia/driver}\n"
      "log: {level: warn}\n");
  const auto reloaded = agent_->Reload();
  ASSERT_FALSE(reloaded.ok());
  EXPECT_EQ(reloaded.error().ToString(), "node: node.driverRoot is \"" + directory_ +
                                             "\" for the life of an agent and cannot become "
                                             "\"/run/nvidia/driver\"");
  EXPECT_EQ(reloaded.error().hint(), "restart the agent: systemctl restart partita-agent");
  EXPECT_EQ(agent_->config().log_level.value, "info") << "all of it or nothing";
}

// Whoever compares next, compares with these.
TEST_F(AgentTest, TakesOtherMigSettings) {
  Start();
  ASSERT_TRUE(base::WriteFile(directory_ + "/mig.yaml",
                              "version: v1\nmig-configs:\n  off:\n    - {devices: all, "
                              "mig-enabled: false}\n",
                              0644)
                  .ok());
  WriteConfig("version: partita/v1\nlisten: \"\"\nmig: {configFile: " + directory_ +
              "/mig.yaml, default: \"off\"}\n");
  const auto changed = agent_->Reload();
  ASSERT_TRUE(changed.ok()) << changed.error().ToString();
  EXPECT_EQ(*changed, (std::vector<std::string>{"mig.configFile", "mig.default", "listen"}));
  EXPECT_EQ(agent_->config().mig_default.value, "off");
}

}  // namespace
}  // namespace partita::agent
