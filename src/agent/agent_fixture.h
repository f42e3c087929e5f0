// An agent on a fake loop, in a directory of its own, on a machine without anything.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "agent/agent.h"
#include "base/files.h"
#include "net/testing/fake_loop.h"

namespace partita::agent {

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
        .connect = [](net::Loop&, const std::string&) -> base::Result<ClusterConnection> {
          return base::Error(base::ErrorCode::kNotFound, "no cluster in this test");
        },
        .text_format = base::LogFormat::kJournal};
  }
  Agent& Start() {
    ended_.clear();
    agent_.emplace(loop_, log_, Notifier("", std::chrono::seconds(30)), Options());
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

}  // namespace partita::agent
