// The device plugin of an agent on a simulated machine, by a configuration that becomes another.
// Time on the loop is the test's; the driver's threads are real.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "agent/agent.h"
#include "base/files.h"
#include "base/json.h"
#include "net/testing/fake_loop.h"
#include "tests/integration/simulated_machine.h"

namespace partita::integration {
namespace {

class PluginReloadTest : public ::testing::Test {
 protected:
  PluginReloadTest() : machine_("dgx-a100-40"), work_(machine_.root() + "/agent") {
    std::filesystem::create_directories(work_);
    const std::filesystem::path libraries = machine_.root() + "/usr/lib64";
    std::filesystem::create_directories(libraries);
    std::filesystem::create_symlink(PARTITA_SIM_LIBRARY, libraries / "libnvidia-ml.so.1");
    const config::Origin flag{config::OriginKind::kFlag, "--flag"};
    options_.config = {work_ + "/config.yaml",
                       false,
                       {{"node.hostRoot", machine_.root(), flag},
                        {"node.driverRoot", machine_.root(), flag},
                        {"mps.root", work_ + "/mps", flag},
                        {"listen", "", flag}}};
    options_.run_directory = work_ + "/run";
    options_.state_directory = work_ + "/state";
    options_.device_plugin_directory = work_;
  }
  void TearDown() override { Stop(); }

  // `plugin` of the device plugin's document, `more` of the agent's.
  void Configure(bool enabled, const std::string& plugin, const std::string& more) const {
    const std::string text =
        "version: partita/v1\n" + more +
        "devicePlugin:\n  enabled: " + (enabled ? "true" : "false") +
        "\n  config: {version: v1, flags: {plugin: {deviceListStrategy: envvar}}" + plugin + "}\n";
    PARTITA_CHECK(base::WriteFile(work_ + "/config.yaml", text, 0644).ok());
  }
  void Start() {
    ended_.clear();
    agent_.emplace(loop_, log_, agent::Notifier(""), options_);
    agent_->Start([this](const base::Result<void>& end) {
      ended_ = end.ok() ? "ok" : end.error().ToString();
    });
    loop_.RunUntil([this] { return agent_->running() || !ended_.empty(); });
    ASSERT_TRUE(agent_->running()) << ended_ << lines_;
    ASSERT_EQ(agent_->node().live().current()->inventory.gpus.size(), 8U);
  }
  void Stop() {
    if (!agent_ || !ended_.empty()) return;
    agent_->Stop();
    loop_.RunUntil([this] { return !ended_.empty(); });
    agent_.reset();
  }
  void Reload() {
    const auto changed = agent_->Reload();
    ASSERT_TRUE(changed.ok()) << changed.error().ToString();
  }
  [[nodiscard]] std::string Part(const std::string& key) const {
    return base::ToJsonLine(*agent_->State().Find(key));
  }
  // As an agent has it that is started with the same file.
  [[nodiscard]] std::string PartOfAFreshOne(const std::string& key) {
    Stop();
    Start();
    return Part(key);
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

TEST_F(PluginReloadTest, APluginThatIsTurnedOnGoesByTheConfigurationThatTurnsItOn) {
  Configure(false, "", "");
  Start();
  ASSERT_EQ(Part("devicePlugin"), "null");
  Configure(true, "",
            "offer: {default: none, rules: [{select: {index: 3}, via: device-plugin}]}\n");
  Reload();
  const std::string offered = Part("devicePlugin");
  EXPECT_NE(offered.find("\"devices\":1,"), std::string::npos) << offered;
  EXPECT_EQ(offered, PartOfAFreshOne("devicePlugin"));
}

TEST_F(PluginReloadTest, OptionsOfMpsThatChangeWhileItIsOffCountWhenItIsTurnedOn) {
  const std::string shared = ", sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}";
  Configure(false, shared, "");
  Start();
  Configure(true, shared, "mps: {runner: pod}\n");
  Reload();
  const std::string domains = Part("mps");
  EXPECT_NE(domains.find("\"problem\""), std::string::npos) << domains;
  // As the runner before would say it.
  EXPECT_EQ(domains.find("an agent in a container"), std::string::npos) << domains;
}

// Nobody could be a client: whoever looks for a node with MPS must not find this one.
TEST_F(PluginReloadTest, WhereNoDaemonMayRunNoLabelSaysMps) {
  Configure(true, ", sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}",
            "labels: {backend: file, file: " + work_ + "/gfd}\n");
  Start();
  const base::Result<std::string> labels = base::ReadFile(work_ + "/gfd");
  ASSERT_TRUE(labels.ok());
  EXPECT_NE(labels->find("nvidia.com/mps.capable=false\n"), std::string::npos) << *labels;
  EXPECT_NE(labels->find("nvidia.com/gpu.sharing-strategy=none\n"), std::string::npos) << *labels;
}

}  // namespace
}  // namespace partita::integration
