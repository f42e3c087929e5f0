// An agent whose device plugin is configured by the node's label.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "agent/agent_fixture.h"
#include "base/files.h"
#include "base/json.h"
#include "kube/testing/fake_client.h"

namespace partita::agent {
namespace {

using base::Value;

constexpr const char* kNodePath = "/api/v1/nodes/n1";
constexpr const char* kMapsPath = "/api/v1/namespaces/gpu/configmaps";
constexpr const char* kMapPath = "/api/v1/namespaces/gpu/configmaps/plugin";

std::string Slices(int replicas) {
  return "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, "
         "replicas: " +
         std::to_string(replicas) + "}\n";
}

class AgentNamed : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    std::filesystem::create_directories(Folder());
    Configure("configDir: " + Folder());
  }
  void Configure(const std::string& plugin) const {
    WriteConfig("version: partita/v1\nlisten: \"\"\nnode: {name: n1}\ndevicePlugin: {" + plugin +
                "}\n");
  }
  [[nodiscard]] std::string Folder() const { return directory_ + "/named"; }
  void Write(const std::string& name, const std::string& text) const {
    PARTITA_CHECK(base::WriteFile(Folder() + "/" + name, text, 0644).ok());
  }

  // Runs with an API server that has our Node, unless `label` is nothing.
  void StartWith(const std::optional<std::string>& label) {
    AgentOptions options = Options();
    options.connect = [this, label](net::Loop& loop,
                                    const std::string&) -> base::Result<ClusterConnection> {
      if (no_access_) return *no_access_;
      auto client = std::make_unique<kube::testing::FakeClient>(loop);
      api_ = client.get();
      if (label) SetLabel(*label);
      if (!map_.IsNull()) api_->Put(kMapPath, map_);
      if (maps_fail_) api_->FailWatch(kMapsPath, maps_fail_);
      return ClusterConnection{std::move(client), "the test", "default"};
    };
    agent_.emplace(loop_, log_, Notifier(""), options);
    agent_->Start([](const base::Result<void>&) {});
    loop_.RunUntil([this] { return agent_->running(); });
    loop_.RunUntilIdle();
  }
  void StopAgent() {
    agent_->Stop();
    loop_.RunUntilIdle();
  }
  void SetLabel(const std::string& label) const {
    Value labels = Value::Map();
    if (!label.empty()) labels.Set("nvidia.com/device-plugin.config", label);
    api_->Put(kNodePath,
              Value::Map()
                  .Set("apiVersion", "v1")
                  .Set("kind", "Node")
                  .Set("metadata", Value::Map().Set("name", "n1").Set("labels", labels)));
  }
  void Label(const std::string& label) {
    SetLabel(label);
    loop_.RunUntilIdle();
  }
  static Value Map(const std::vector<std::pair<std::string, std::string>>& texts) {
    Value data = Value::Map();
    for (const auto& [name, text] : texts) data.Set(name, text);
    return Value::Map()
        .Set("apiVersion", "v1")
        .Set("kind", "ConfigMap")
        .Set("metadata", Value::Map().Set("name", "plugin").Set("namespace", "gpu"))
        .Set("data", std::move(data));
  }
  void PutMap(const std::vector<std::pair<std::string, std::string>>& texts) {
    api_->Put(kMapPath, Map(texts));
    loop_.RunUntilIdle();
  }
  // What the kernel tells, and the moment after it.
  void Hear() {
    loop_.RunUntilIdle();
    loop_.Advance(std::chrono::milliseconds(100));
    loop_.RunUntilIdle();
  }

  // "label ts4 3": by whom, which, and how many replicas the device plugin was told; 1 for none.
  [[nodiscard]] std::string InForce() const {
    const Value state = agent_->State();
    const Value& named = *state.Find("config")->Find("named");
    const auto kept = base::ReadFile(directory_ + "/state/last-good/device-plugin.json");
    if (!kept.ok() || named.Find("by") == nullptr) return "nothing";
    const auto document = base::ParseJson(*kept);
    const Value* sharing = document->Find("sharing");
    const Value* slicing = sharing == nullptr ? nullptr : sharing->Find("timeSlicing");
    std::string replicas = "1";
    if (slicing != nullptr && !slicing->IsNull() && !slicing->Find("resources")->items().empty())
      replicas = ToJsonLine(*slicing->Find("resources")->items()[0].Find("replicas"));
    return named.Find("by")->AsString() + " " + named.Find("name")->AsString() + " " + replicas;
  }
  [[nodiscard]] std::string Condition() const {
    const Value* status = api_->At(kNodePath)->Find("status");
    if (status == nullptr) return "none";
    for (const Value& each : status->Find("conditions")->items())
      if (each.Find("type")->AsString() == "partita.dev/GPUConfigApplied")
        return each.Find("status")->AsString() + " " + each.Find("reason")->AsString() + ": " +
               each.Find("message")->AsString();
    return "none";
  }
  [[nodiscard]] std::string Ready() {
    const std::string text = agent_->readiness().Text();
    return text.substr(0, text.find('\n'));
  }

  kube::testing::FakeClient* api_ = nullptr;
  Value map_;
  std::optional<base::Error> maps_fail_;  // of their watch
  std::optional<base::Error> no_access_;  // to any API server
};

TEST_F(AgentNamed, FollowsTheLabelAndGoesBackToTheDefault) {
  Configure("configDir: " + Folder() + ", default: whole");
  Write("whole", "version: v1\n");
  Write("ts4", Slices(4));
  StartWith("");
  EXPECT_EQ(InForce(), "default whole 1");
  EXPECT_EQ(Condition(), "True ConfigApplied: " + Folder() + "/whole is in force (default)");
  Label("ts4");
  EXPECT_EQ(InForce(), "label ts4 4");
  EXPECT_EQ(Condition(), "True ConfigApplied: " + Folder() +
                             "/ts4 is in force (node label nvidia.com/device-plugin.config=ts4)");
  Label("whole");
  EXPECT_EQ(InForce(), "label whole 1");
  Label("");
  EXPECT_EQ(InForce(), "default whole 1");
  EXPECT_EQ(Ready(), "[+] config");
}

TEST_F(AgentNamed, LabelsGoWhereTheOneInForceSaysUnlessTheAgentIsTold) {
  const std::string file = "labels: {file: " + directory_ + "/gfd";
  const auto backend = [this] {
    const Value state = agent_->State();
    return state.Find("labels")->Find("backend")->AsString();
  };
  Configure("configDir: " + Folder() + "}\n" + file);
  Write("silent", "version: v1\n");
  Write("file", "version: v1\nflags: {useNodeFeatureAPI: false}\n");
  Write("object", "version: v1\nflags: {useNodeFeatureAPI: true}\n");
  StartWith("silent");
  EXPECT_EQ(backend(), "node");
  Label("file");
  EXPECT_EQ(backend(), "file");
  Label("object");
  EXPECT_EQ(backend(), "nodefeature");
  EXPECT_EQ(lines_.find("passed over"), std::string::npos) << lines_;
  Configure("configDir: " + Folder() + "}\n" + file + ", backend: node");
  Hear();
  EXPECT_EQ(backend(), "node");
  EXPECT_NE(
      lines_.find("\\\"flags.useNodeFeatureAPI: true\\\" of the device plugin's configuration is "
                  "passed over: \\\"labels.backend: node\\\" (" +
                  directory_ + "/config.yaml:5:"),
      std::string::npos)
      << lines_;
  EXPECT_NE(lines_.find("write \\\"labels.backend: nodefeature\\\", or take the flag out"),
            std::string::npos)
      << lines_;
}

TEST_F(AgentNamed, KeepsWhatIsInForceWhereTheLabelIsWrong) {
  Write("whole", "version: v1\n");
  Write("ts4", Slices(4));
  StartWith("ts4");
  Label("tz4");
  EXPECT_EQ(InForce(), "label ts4 4");
  const std::string told = "node label nvidia.com/device-plugin.config: no configuration in " +
                           Folder() + " is called \"tz4\"";
  EXPECT_EQ(Condition(), "False ConfigRejected: " + told + " (did you mean \"ts4\"?)");
  EXPECT_EQ(Ready(), "[+] config (the last good one is in force: " + told + ")");
  EXPECT_TRUE(agent_->readiness().ready());
  // Also over a restart, and a change of config.yaml is taken all the same.
  StopAgent();
  StartWith("tz4");
  EXPECT_EQ(InForce(), "label ts4 4");
  EXPECT_TRUE(Condition().starts_with("False ConfigRejected")) << Condition();
  Configure("configDir: " + Folder() + "}\nlog: {level: debug");
  Hear();
  EXPECT_EQ(agent_->config().log_level.value, "debug") << lines_;
  EXPECT_EQ(InForce(), "label ts4 4");
  Label("whole");
  EXPECT_EQ(InForce(), "label whole 1");
  EXPECT_EQ(Ready(), "[+] config");
}

TEST_F(AgentNamed, TellsThePlaceInABadFileOnceInAnEvent) {
  Write("ts4", Slices(4));
  StartWith("ts4");
  Write("ts4", "version: v1\nflags: {migStrategy: som}\n");
  Hear();
  EXPECT_EQ(InForce(), "label ts4 4");
  EXPECT_EQ(Condition(), "False ConfigRejected: " + Folder() +
                             "/ts4:2:22: expected none, single or mixed, not \"som\"");
  std::size_t events = 0;
  for (const std::string& each : api_->asked())
    if (each.find("create") == 0 && each.find("events") != std::string::npos) ++events;
  EXPECT_EQ(events, 1U);
  Write("ts4", Slices(3));
  Hear();
  EXPECT_EQ(InForce(), "label ts4 3");
}

// As kubelet renews a mounted ConfigMap.
TEST_F(AgentNamed, FollowsAMountedConfigMap) {
  const std::filesystem::path mount = Folder();
  const auto version = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories(mount / name);
    ASSERT_TRUE(base::WriteFile(mount / name / "ts", text, 0644).ok());
    std::filesystem::create_directory_symlink(name, mount / "..data_tmp");
    std::filesystem::rename(mount / "..data_tmp", mount / "..data");
  };
  version("..1", Slices(4));
  std::filesystem::create_symlink("..data/ts", mount / "ts");
  StartWith("");
  EXPECT_EQ(InForce(), "fallback single ts 4");
  version("..2", Slices(7));
  std::filesystem::remove_all(mount / "..1");
  Hear();
  EXPECT_EQ(InForce(), "fallback single ts 7");
}

TEST_F(AgentNamed, MissesAFileThatIsDeleted) {
  Write("ts4", Slices(4));
  StartWith("ts4");
  std::filesystem::remove(Folder() + "/ts4");
  Hear();
  EXPECT_EQ(InForce(), "label ts4 4");
  EXPECT_TRUE(Condition().starts_with("False ConfigRejected")) << Condition();
  std::filesystem::remove(Folder());
  Hear();
  EXPECT_EQ(InForce(), "label ts4 4");
  std::filesystem::create_directories(Folder());
  Write("ts4", Slices(5));
  Hear();
  EXPECT_EQ(InForce(), "label ts4 5") << Condition();
}

TEST_F(AgentNamed, FollowsAConfigMap) {
  Configure("configMap: gpu/plugin");
  map_ = Map({{"whole", "version: v1\n"}, {"ts4", Slices(4)}});
  StartWith("ts4");
  EXPECT_EQ(InForce(), "label ts4 4");
  PutMap({{"whole", "version: v1\n"}, {"ts4", Slices(6)}});
  EXPECT_EQ(InForce(), "label ts4 6");
  PutMap({{"whole", "version: v1\n"}, {"ts4", "version: v1\nflags: [a]\n"}});
  EXPECT_EQ(InForce(), "label ts4 6");
  EXPECT_TRUE(
      Condition().starts_with("False ConfigRejected: configmap/gpu/plugin/ts4:2:8: expected "))
      << Condition();
  api_->Remove(kMapPath);
  loop_.RunUntilIdle();
  EXPECT_EQ(InForce(), "label ts4 6");
  EXPECT_EQ(Condition(),
            "False ConfigRejected: configmap/gpu/plugin is not there (kubectl -n gpu create "
            "configmap plugin --from-file=FILE)");
  // Over a restart too.
  StopAgent();
  map_ = {};
  StartWith("ts4");
  EXPECT_EQ(InForce(), "label ts4 6");
  EXPECT_TRUE(agent_->readiness().ready()) << agent_->readiness().Text();
  PutMap({{"ts4", Slices(2)}});
  EXPECT_EQ(InForce(), "label ts4 2");
}

TEST_F(AgentNamed, SeesAConfigMapThatIsMadeAnewWithoutAnything) {
  Configure("configMap: gpu/plugin, fallback: [empty]");
  map_ = Map({});
  StartWith("");
  EXPECT_EQ(Condition().substr(0, 4), "True") << Condition();
  api_->Remove(kMapPath);
  loop_.RunUntilIdle();
  EXPECT_TRUE(Condition().starts_with("False ConfigRejected: configmap/gpu/plugin is not there"))
      << Condition();
  PutMap({});
  EXPECT_EQ(Condition().substr(0, 4), "True") << Condition();
}

// Nothing is wrong as yet, and nothing is in force either.
TEST_F(AgentNamed, SaysThatItWaitsForTheConfigMapWhereNothingWasInForce) {
  Configure("configMap: gpu/plugin");
  map_ = Map({{"ts4", Slices(4)}});
  maps_fail_ = base::Error(base::ErrorCode::kUnavailable, "nobody answers");
  StartWith("ts4");
  EXPECT_EQ(Condition(),
            "Unknown ConfigAwaited: waits for the API server to tell configmap/gpu/plugin, and "
            "nothing was in force before: nobody answers");
  EXPECT_FALSE(api_->counts().contains("create events"));
  EXPECT_FALSE(agent_->readiness().ready());
  api_->FailWatch(kMapsPath, std::nullopt);
  loop_.RunUntilIdle();
  EXPECT_EQ(InForce(), "label ts4 4");
  EXPECT_EQ(Condition().substr(0, 4), "True") << Condition();
}

TEST_F(AgentNamed, IsWellAgainWhereTheWatchOfTheConfigMapGoesOn) {
  Configure("configMap: gpu/plugin");
  map_ = Map({{"ts4", Slices(4)}});
  StartWith("ts4");
  api_->ResumeWatches();
  api_->FailWatch(kMapsPath,
                  base::Error(base::ErrorCode::kDenied, "the API server answers 403: no"));
  loop_.RunUntilIdle();
  EXPECT_NE(Ready(), "[+] config");
  api_->FailWatch(kMapsPath, std::nullopt);
  loop_.RunUntilIdle();
  EXPECT_EQ(Ready(), "[+] config");
  EXPECT_EQ(Condition().substr(0, 4), "True") << Condition();
}

// Whoever started it first, nothing is offered that the label might not mean.
TEST_F(AgentNamed, SaysWhichRightIsMissingWhereTheConfigMapIsRefused) {
  Configure("configMap: gpu/plugin");
  map_ = Map({{"ts4", Slices(4)}});
  StartWith("ts4");
  EXPECT_EQ(Ready(), "[+] config");
  api_->Fail(base::Error(base::ErrorCode::kDenied, "the API server answers 403: no"));
  loop_.RunUntilIdle();
  EXPECT_EQ(InForce(), "label ts4 4");
  EXPECT_TRUE(agent_->readiness().ready());
  EXPECT_EQ(Ready(),
            "[+] config (the last good one is in force: configmap/gpu/plugin is not seen: the API "
            "server answers 403: no)");
  EXPECT_NE(lines_.find("allow the agent's account to list and watch configmaps in the namespace "
                        "\\\"gpu\\\", as the chart does"),
            std::string::npos)
      << lines_;
  const Value report = agent_->NamedReport();
  EXPECT_TRUE(report.Find("named")
                  ->Find("rejected")
                  ->AsString()
                  .starts_with("configmap/gpu/plugin is not seen: "));
  // Also where it was never seen in this life.
  StopAgent();
  AgentOptions options = Options();
  options.connect = [this](net::Loop& loop, const std::string&) -> base::Result<ClusterConnection> {
    auto client = std::make_unique<kube::testing::FakeClient>(loop);
    api_ = client.get();
    SetLabel("ts4");
    api_->Put(kMapPath, map_);
    api_->Fail(base::Error(base::ErrorCode::kDenied, "the API server answers 403: no"));
    return ClusterConnection{std::move(client), "the test", "default"};
  };
  agent_.emplace(loop_, log_, Notifier(""), options);
  agent_->Start([](const base::Result<void>&) {});
  loop_.RunUntil([this] { return agent_->running(); });
  loop_.RunUntilIdle();
  EXPECT_EQ(InForce(), "label ts4 4");
  EXPECT_TRUE(Ready().starts_with(
      "[+] config (the last good one is in force: configmap/gpu/plugin is not seen"))
      << Ready();
  // The right is there: nothing is wrong any more.
  api_->Fail(std::nullopt);
  loop_.Advance(std::chrono::seconds(60));
  loop_.RunUntilIdle();
  EXPECT_EQ(Ready(), "[+] config");
  EXPECT_EQ(Condition(),
            "True ConfigApplied: configmap/gpu/plugin/ts4 is in force (node label "
            "nvidia.com/device-plugin.config=ts4)");
}

TEST_F(AgentNamed, WaitsForTheLabelWhereNothingWasInForce) {
  Write("whole", "version: v1\n");
  Write("ts4", Slices(4));
  Configure("configDir: " + Folder() + ", default: whole");
  StartWith(std::nullopt);
  EXPECT_FALSE(agent_->readiness().ready());
  EXPECT_NE(agent_->readiness().Text().find(
                "[-] device plugin: waits for the API server to tell the node's label "
                "nvidia.com/device-plugin.config, and nothing was in force before"),
            std::string::npos)
      << agent_->readiness().Text();
  Label("ts4");
  EXPECT_EQ(InForce(), "label ts4 4");
  EXPECT_TRUE(agent_->readiness().ready()) << agent_->readiness().Text();
  // Once it is known, an API server that is silent takes nothing away.
  StopAgent();
  StartWith(std::nullopt);
  EXPECT_EQ(InForce(), "label ts4 4");
  EXPECT_TRUE(agent_->readiness().ready()) << agent_->readiness().Text();
}

// The unit of a host may begin before the node joins: its kubeconfig comes later.
TEST_F(AgentNamed, DoesAllThatNeedsAnApiServerWhenThereIsOneLater) {
  WriteConfig("version: partita/v1\nlisten: \"\"\nnode: {name: n1, kubeconfig: " + directory_ +
              "/kubelet.conf}\nlabels: {backend: nodefeature}\n"
              "devicePlugin: {configMap: gpu/plugin}\n");
  map_ = Map({{"ts4", Slices(4)}});
  no_access_ = base::Error(base::ErrorCode::kNotFound, "open kubelet.conf: no such file");
  StartWith("");
  EXPECT_EQ(InForce(), "nothing");
  EXPECT_NE(agent_->readiness().Text().find("cluster (open kubelet.conf: no such file)"),
            std::string::npos)
      << agent_->readiness().Text();
  no_access_.reset();
  loop_.Advance(Cluster::kConnectAgain);
  EXPECT_EQ(InForce(), "fallback single ts4 4");
  EXPECT_TRUE(Condition().starts_with("True ConfigApplied: ")) << Condition();
  EXPECT_NE(api_->At("/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/default/nodefeatures/"
                     "nvidia-features-for-n1"),
            nullptr)
      << lines_;
  EXPECT_EQ(agent_->readiness().Text().find("kubelet.conf"), std::string::npos)
      << agent_->readiness().Text();
}

// Nobody has said then that the label is gone.
TEST_F(AgentNamed, KeepsWhatALabelSelectedWhileTheKubeconfigIsAwaited) {
  WriteConfig(
      "version: partita/v1\nlisten: \"\"\nnode: {name: n1, kubeconfig: /k}\n"
      "devicePlugin: {configDir: " +
      Folder() + ", default: whole}\n");
  Write("whole", "version: v1\n");
  Write("ts4", Slices(4));
  StartWith("ts4");
  EXPECT_EQ(InForce(), "label ts4 4");
  StopAgent();
  no_access_ = base::Error(base::ErrorCode::kInvalid, "/k:1:1: no YAML");
  StartWith("ts4");
  EXPECT_EQ(InForce(), "label ts4 4");
  StopAgent();
  StartWith("whole");
  no_access_.reset();
  loop_.Advance(Cluster::kConnectAgain);
  EXPECT_EQ(InForce(), "label whole 1");
}

TEST_F(AgentNamed, NeedsNoLabelWhereThereIsNoCluster) {
  Write("ts4", Slices(4));
  Start();
  EXPECT_EQ(InForce(), "fallback single ts4 4");
}

TEST_F(AgentNamed, SaysWhichIsMeantWhereNothingDoes) {
  Write("a", "version: v1\n");
  Write("b", "version: v1\n");
  StartWith("");
  EXPECT_FALSE(agent_->readiness().ready());
  EXPECT_EQ(Condition(), "False ConfigRejected: nothing says which configuration of " + Folder() +
                             " is meant: a or b (set the label nvidia.com/device-plugin.config of "
                             "this node, or devicePlugin.default)");
  Configure("configDir: " + Folder() + ", fallback: [single, empty]");
  Hear();
  EXPECT_EQ(InForce(), "fallback empty  1");
  EXPECT_TRUE(agent_->readiness().ready()) << agent_->readiness().Text();
}

// The other label: a file that is laid over config.yaml.
TEST_F(AgentNamed, LaysTheOverlayThatALabelNamesOverItsFile) {
  const auto set = [this](const std::string& overlay) {
    Value labels = Value::Map();
    if (!overlay.empty()) labels.Set("partita.dev/config", overlay);
    api_->Put(kNodePath,
              Value::Map()
                  .Set("apiVersion", "v1")
                  .Set("kind", "Node")
                  .Set("metadata", Value::Map().Set("name", "n1").Set("labels", labels)));
    loop_.RunUntilIdle();
  };
  std::filesystem::create_directory(directory_ + "/overlays");
  const std::string overlay = directory_ + "/overlays/loud.yaml";
  ASSERT_TRUE(base::WriteFile(overlay, "version: partita/v1\nlog: {level: debug}\n", 0644).ok());
  Configure("config: {version: v1}");
  StartWith("");
  EXPECT_EQ(agent_->config().log_level.value, "info");
  set("loud");
  EXPECT_EQ(agent_->config().log_level.value, "debug") << lines_;
  set("loudest");
  EXPECT_EQ(agent_->config().log_level.value, "debug");
  EXPECT_TRUE(
      Condition().starts_with("False ConfigRejected: node label partita.dev/config=loudest: open "))
      << Condition();
  EXPECT_TRUE(agent_->readiness().ready());
  // Also over a restart: the last good one, and where the kubeconfig is not there yet.
  StopAgent();
  no_access_ = base::Error(base::ErrorCode::kInvalid, "/k:1:1: no YAML");
  StartWith(std::nullopt);
  EXPECT_EQ(agent_->config().log_level.value, "debug") << lines_;
  StopAgent();
  no_access_.reset();
  StartWith(std::nullopt);
  EXPECT_EQ(agent_->config().log_level.value, "debug") << lines_;
  set("loud");
  ASSERT_TRUE(base::WriteFile(overlay, "version: partita/v1\nlog: {level: warn}\n", 0644).ok());
  Hear();
  EXPECT_EQ(agent_->config().log_level.value, "warn") << lines_;
  // Where there is no cluster any more nobody can take a label off.
  StopAgent();
  no_access_ = base::Error(base::ErrorCode::kNotFound, "no cluster");
  StartWith(std::nullopt);
  EXPECT_EQ(agent_->config().log_level.value, "info");
  StopAgent();
  no_access_.reset();
  StartWith(std::nullopt);
  set("loud");
  EXPECT_EQ(agent_->config().log_level.value, "warn") << lines_;
  set("");
  EXPECT_EQ(agent_->config().log_level.value, "info");
  EXPECT_EQ(Ready(), "[+] config");
}

TEST_F(AgentNamed, LeavesASingleOneAlone) {
  Configure("config: {version: v1}");
  StartWith("ts4");
  const Value state = agent_->State();
  EXPECT_TRUE(state.Find("config")->Find("named")->IsNull());
  EXPECT_EQ(Condition(), "True ConfigApplied: " + directory_ + "/config.yaml is in force");
}

TEST_F(AgentNamed, ReportsEachValueWithItsOrigin) {
  Write("ts4", Slices(4));
  StartWith("ts4");
  const Value whole = agent_->NamedReport();
  EXPECT_EQ(*whole.Find("overlay"), Value(""));
  const std::string report = ToJsonLine(*whole.Find("named"));
  EXPECT_NE(report.find(R"("label":{"key":"nvidia.com/device-plugin.config","value":"ts4"})"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find(R"("key":"devicePlugin.config.sharing.timeSlicing)"), std::string::npos)
      << report;
  EXPECT_NE(report.find(Folder() + "/ts4:"), std::string::npos) << report;
}

}  // namespace
}  // namespace partita::agent
