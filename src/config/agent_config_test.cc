#include "config/agent_config.h"

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::config {
namespace {

base::Result<AgentConfig> ParseAgent(std::string text, std::vector<Override> overrides = {}) {
  return ParseAgentConfig(std::move(text), "c.yaml", overrides);
}

TEST(AgentConfig, IsAllDefaultsWhereNothingIsSaid) {
  for (const char* text : {"", "version: partita/v1\n", "version: partita/v1\nmig:\nlog: {}\n"}) {
    const auto config = ParseAgent(text);
    ASSERT_TRUE(config.ok()) << config.error().ToString();
    EXPECT_EQ(*config, *DefaultAgentConfig({}));
  }
  EXPECT_EQ(ParseAgent("")->listen, (Setting{":9400", {OriginKind::kDefault, ""}}));
}

TEST(AgentConfig, KnowsWhereEachValueWasWritten) {
  const auto config = ParseAgent(
      "version: partita/v1\nnode: {name: worker-3}\nmig:\n  default: all-1g.5gb\nlisten: \"\"\n");
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->node_name, (Setting{"worker-3", {OriginKind::kFile, "c.yaml:2:14"}}));
  EXPECT_EQ(config->mig_default, (Setting{"all-1g.5gb", {OriginKind::kFile, "c.yaml:4:12"}}));
  EXPECT_EQ(config->listen, (Setting{"", {OriginKind::kFile, "c.yaml:5:9"}}));
  EXPECT_EQ(config->log_level.origin.kind, OriginKind::kDefault);
}

TEST(AgentConfig, LetsFlagsAndVariablesWin) {
  const auto config =
      ParseAgent("version: partita/v1\nlog: {level: warn, format: json}\n",
                 {{"log.level", "debug", {OriginKind::kFlag, "--log-level"}},
                  {"node.hostRoot", "/host", {OriginKind::kEnvironment, "PARTITA_HOST_ROOT"}}});
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->log_level, (Setting{"debug", {OriginKind::kFlag, "--log-level"}}));
  EXPECT_EQ(config->log_format, (Setting{"json", {OriginKind::kFile, "c.yaml:2:28"}}));
  EXPECT_EQ(config->host_root.value, "/host");
}

TEST(AgentConfig, TakesTrueAndFalseForAFlag) {
  EXPECT_EQ(ParseAgent("")->replace_when_stuck.value, "true");
  const auto off = ParseAgent("version: partita/v1\nnode: {replaceWhenStuck: false}\n");
  ASSERT_TRUE(off.ok()) << off.error().ToString();
  EXPECT_EQ(off->replace_when_stuck.value, "false");
  const base::Value document = AgentConfigDocument(*off);
  EXPECT_EQ(*document.Find("node")->Find("replaceWhenStuck"), base::Value(false));
  EXPECT_NE(ParseAgent("version: partita/v1\nnode: {replaceWhenStuck: maybe}\n")
                .error()
                .ToString()
                .find("expected true or false, not \"maybe\""),
            std::string::npos);
}

TEST(AgentConfig, SaysWhichFlagOrVariableIsWrong) {
  EXPECT_EQ(ParseAgent("", {{"log.level", "loud", {OriginKind::kEnvironment, "PARTITA_LOG_LEVEL"}}})
                .error()
                .ToString(),
            "PARTITA_LOG_LEVEL: expected debug, info, warn or error, not \"loud\"");
}

TEST(AgentConfig, TellsAllProblemsWithTheirPlaces) {
  const auto config = ParseAgent(
      "version: partita/v2\n"
      "offer: {default: dra}\n"
      "mig: {defalt: x, owner: [], hooksFile: hooks.yaml}\n"
      "listen: 9400\n"
      "log: {level: wran}\n"
      "node: [a]\n"
      "colour: red\n");
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code(), base::ErrorCode::kInvalid);
  EXPECT_EQ(config.error().ToString(),
            "c.yaml:1:10: unknown version \"partita/v2\"\n"
            "    1 | version: partita/v2\n"
            "      |          ^^^^^^^^^^ only partita/v1 exists\n"
            "c.yaml:2:18: \"dra\" comes with dynamic resource allocation\n"
            "    2 | offer: {default: dra}\n"
            "      |                  ^^^ until then write device-plugin or none\n"
            "c.yaml:3:7: unknown key \"defalt\"\n"
            "    3 | mig: {defalt: x, owner: [], hooksFile: hooks.yaml}\n"
            "      |       ^^^^^^ did you mean \"default\"?\n"
            "c.yaml:3:18: \"mig.owner\" comes with dynamic resource allocation\n"
            "    3 | mig: {defalt: x, owner: [], hooksFile: hooks.yaml}\n"
            "      |                  ^^^^^ take it out: this version would do nothing with it\n"
            "c.yaml:3:40: \"hooks.yaml\" is no absolute path\n"
            "    3 | mig: {defalt: x, owner: [], hooksFile: hooks.yaml}\n"
            "      |                                        ^^^^^^^^^^ it begins with /\n"
            "c.yaml:4:9: \"9400\" is no address to listen on\n"
            "    4 | listen: 9400\n"
            "      |         ^^^^ write :9400, 127.0.0.1:9400, [::1]:9400 or unix:/path; \"\" "
            "switches it off\n"
            "c.yaml:5:14: expected debug, info, warn or error, not \"wran\"\n"
            "    5 | log: {level: wran}\n"
            "      |              ^^^^ did you mean \"warn\"?\n"
            "c.yaml:6:7: expected the settings of \"node\", not a list\n"
            "    6 | node: [a]\n"
            "      |       ^ write it as \"key: value\" lines\n"
            "c.yaml:7:1: unknown key \"colour\"\n"
            "    7 | colour: red\n"
            "      | ^^^^^^ known here: version, node, offer, devicePlugin, mig, mps, cdi, health, "
            "toolkit, labels, "
            "taints, listen, log");
}

TEST(AgentConfig, RefusesAKeyThatIsThereTwiceAndAFileWithoutVersion) {
  EXPECT_NE(ParseAgent("version: partita/v1\nlisten: \":1\"\nlisten: \":2\"\n")
                .error()
                .ToString()
                .find("c.yaml:3:1: "),
            std::string::npos);
  EXPECT_NE(ParseAgent("listen: \":1\"\n").error().ToString().find("missing key \"version\""),
            std::string::npos);
}

TEST(AgentConfig, KnowsWhereTheHostHasTheToolkit) {
  EXPECT_EQ(ParseAgent("version: partita/v1\n")->toolkit_install_dir.value, "");
  const auto config = ParseAgent("version: partita/v1\ntoolkit: {installDir: /usr/local/nvidia}\n");
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->toolkit_install_dir.value, "/usr/local/nvidia");
  EXPECT_FALSE(ParseAgent("version: partita/v1\ntoolkit: {installDir: usr}\n").ok());
}

TEST(AgentConfig, KnowsHowMpsIsRun) {
  const auto defaults = ParseAgent("version: partita/v1\n");
  EXPECT_EQ(defaults->mps_root.value, "/run/nvidia/mps");
  EXPECT_EQ(defaults->mps_runner.value, "auto");
  EXPECT_EQ(defaults->mps_compute_mode.value, "exclusive");
  const auto config = ParseAgent(
      "version: partita/v1\n"
      "mps: {root: /mps, runner: child, computeMode: unchanged, memoryFactor: 1.5}\n");
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  PluginConfig plugin;
  AddOwnSettings(*config, plugin);
  EXPECT_EQ(plugin.mps_root, "/mps");
  EXPECT_EQ(plugin.mps_memory_factor, 1.5);
  EXPECT_EQ(plugin.mps_thread_factor, 1.0);
  for (const char* wrong : {"0", "-1", "1001", "x", "1x", "nan", "inf", "\"\""}) {
    const auto refused =
        ParseAgent(std::string("version: partita/v1\nmps: {threadFactor: ") + wrong + "}\n");
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_NE(refused.error().ToString().find(" is no number above 0\n"), std::string::npos)
        << refused.error().ToString();
  }
  for (const char* runner : {"auto", "systemd", "pod", "child", "off"}) {
    const auto chosen =
        ParseAgent(std::string("version: partita/v1\nmps: {runner: ") + runner + "}\n");
    ASSERT_TRUE(chosen.ok()) << chosen.error().ToString();
    EXPECT_EQ(chosen->mps_runner.value, runner);
  }
}

TEST(AgentConfig, SaysWhereTheHostHasDeviceNodes) {
  using Roots = std::pair<std::string, std::string>;
  const auto plugin_of = [](const std::string& node) {
    const auto config = ParseAgent("version: partita/v1\nnode: {" + node + "}\n");
    PluginConfig plugin;
    plugin.driver_root = plugin.dev_root = "/of/the/document";
    AddOwnSettings(*config, plugin);
    return Roots(plugin.driver_root, plugin.dev_root);
  };
  EXPECT_EQ(plugin_of(""), Roots("/", ""));
  EXPECT_EQ(plugin_of("driverRoot: /run/driver"), Roots("/run/driver", ""));
  EXPECT_EQ(plugin_of("hostRoot: /host, driverRoot: /host/run/driver, devRoot: /host"),
            Roots("/run/driver", "/"));
}

TEST(AgentConfig, NamesEveryLaterSection) {
  for (const char* key :
       {"gpuModes", "dra", "telemetry", "vm", "vgpu", "tpu", "upgrade", "recommend"}) {
    const auto config = ParseAgent(std::string("version: partita/v1\n") + key + ": {}\n");
    ASSERT_FALSE(config.ok()) << key;
    EXPECT_NE(config.error().ToString().find(std::string(key) + "\" comes with "),
              std::string::npos)
        << config.error().ToString();
  }
}

TEST(AgentConfig, ReadsWhereLabelsGo) {
  const auto defaults = ParseAgent("version: partita/v1\n");
  EXPECT_EQ(defaults->labels_backend.value, "node");
  EXPECT_EQ(defaults->taints_enabled.value, "false");
  const auto config = ParseAgent(
      "version: partita/v1\nlabels: {backend: nodefeature, resync: 90m, perModel: false}\n"
      "taints: {enabled: true, key: example.com/gpu, value: \"\"}\n");
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->labels_backend.value, "nodefeature");
  EXPECT_EQ(config->labels_resync.value, "90m");
  EXPECT_EQ(config->labels_per_model.value, "false");
  EXPECT_EQ(config->taints_key.value, "example.com/gpu");
  EXPECT_EQ(config->taints_value.value, "");
}

TEST(AgentConfig, SaysWhatOfLabelsAndTaintsIsWrong) {
  const auto wrong = [](const std::string& line) {
    const auto config = ParseAgent("version: partita/v1\n" + line + "\n");
    return config.ok() ? "nothing" : config.error().ToString();
  };
  EXPECT_EQ(wrong("labels: {resync: 59s}"),
            "c.yaml:2:18: \"59s\" is no time of a minute or more\n"
            "    2 | labels: {resync: 59s}\n"
            "      |                  ^^^ write 1h, 30m or 90s");
  EXPECT_NE(wrong("labels: {backend: nfd}").find("expected node, nodefeature, file or none"),
            std::string::npos);
  EXPECT_NE(wrong("labels: {prefixes: [a]}").find("\"labels.prefixes\" comes with"),
            std::string::npos);
  EXPECT_NE(wrong("labels: {nfdFacts: true}").find("\"labels.nfdFacts\" comes with"),
            std::string::npos);
  for (const char* key : {"a b", "nvidia.com/", "/gpu", "Nvidia.com/gpu", "-x", "a/b/c"})
    EXPECT_NE(wrong(std::string("taints: {key: \"") + key + "\"}").find("is no key of a taint"),
              std::string::npos)
        << key;
  EXPECT_EQ(wrong("taints: {key: gpu}"), "nothing");
  EXPECT_NE(wrong("taints: {value: a b}").find("\"a b\" is no value of a taint"),
            std::string::npos);
  EXPECT_NE(wrong("taints: {tolerationPolicy: \"on\"}")
                .find("comes with the chart, as a value of the same name"),
            std::string::npos);
}

TEST(AgentConfig, NamesWhatOfCdiComesLater) {
  const auto config =
      ParseAgent("version: partita/v1\ncdi: {versionMax: 0.6.0, management: true}\n");
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->cdi_version_max.value, "0.6.0");
  EXPECT_EQ(config->cdi_management.value, "true");
  const std::string old =
      ParseAgent("version: partita/v1\ncdi: {versionMax: 0.4.0}\n").error().ToString();
  EXPECT_NE(old.find("expected 0.5.0, 0.6.0 or 0.7.0, not \"0.4.0\""), std::string::npos) << old;
  EXPECT_NE(ParseAgent("version: partita/v1\ncdi: {disableHooks: []}\n")
                .error()
                .ToString()
                .find("\"cdi.disableHooks\" comes with the container toolkit"),
            std::string::npos);
}

TEST(AgentConfig, ReadsBackWhatItShows) {
  const auto config = ParseAgent("version: partita/v1\nnode: {name: \"1\"}\nlisten: \"\"\n");
  ASSERT_TRUE(config.ok());
  const auto again = ParseAgent(base::ToYaml(AgentConfigDocument(*config)));
  ASSERT_TRUE(again.ok()) << again.error().ToString();
  for (const SettingRow& row : SettingRows())
    EXPECT_EQ(((*again).*row.member).value, ((*config).*row.member).value) << row.key;
}

class NamedFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-config-XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  void TearDown() override { (void)base::RemoveTree(directory_); }
  std::string directory_;
};

TEST_F(NamedFiles, AreReadOnlyWhereSomethingOfThemIsSelected) {
  EXPECT_TRUE(CheckNamedFiles(*ParseAgent("")).ok());
  const std::string file = directory_ + "/mig.yaml";
  const auto config =
      ParseAgent("version: partita/v1\nmig: {configFile: " + file + ", default: b}\n");
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(CheckNamedFiles(*config).error().code(), base::ErrorCode::kNotFound);
  ASSERT_TRUE(base::WriteFile(file,
                              "version: v1\nmig-configs:\n  a:\n  - {devices: all, mig-enabled: "
                              "false}\n",
                              0644)
                  .ok());
  const auto checked = CheckNamedFiles(*config);
  ASSERT_FALSE(checked.ok());
  EXPECT_TRUE(checked.error().ToString().starts_with("c.yaml:2:")) << checked.error().ToString();
  EXPECT_NE(checked.error().ToString().find("mig.default"), std::string::npos);
}

TEST_F(NamedFiles, MayBeAbsentOnlyWhereNobodyNamedThem) {
  const AgentConfigSource usual{directory_ + "/none.yaml", false, {}};
  EXPECT_TRUE(LoadAgentConfig(usual).ok());
  const AgentConfigSource named{directory_ + "/none.yaml", true, {}};
  EXPECT_EQ(LoadAgentConfig(named).error().code(), base::ErrorCode::kNotFound);
}

}  // namespace
}  // namespace partita::config
