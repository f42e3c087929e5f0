#include "config/plugin_config.h"

#include <set>

#include <gtest/gtest.h>

#include "config/plugin_config_options.h"

namespace partita::config {
namespace {

struct How {
  PluginDefaults defaults = PluginDefaults::kReference;
  bool strict = false;
  bool honour_resources = false;
  std::vector<PluginOverride> overrides{};
};

base::Result<PluginConfigResult> ParsePlugin(std::string text, const How& how = {}) {
  return ParsePluginConfig(std::move(text), "c.yaml", how.defaults, how.strict,
                           how.honour_resources, how.overrides);
}

std::string PluginErrorOf(std::string text, const How& how = {}) {
  const auto parsed = ParsePlugin(std::move(text), how);
  return parsed.ok() ? "" : parsed.error().ToString();
}

TEST(PluginConfig, IsTheReferencesDefaultsWhereNothingIsSaid) {
  PluginConfig expected;
  expected.list_strategies = {ListStrategy::kEnvvar};
  expected.cdi_hook_path = "/usr/bin/nvidia-ctk";
  for (const char* text :
       {"", "{}", "version: v1\n", "version:\nflags:\nsharing:\nresources:\nimex: {}\n",
        "flags: {plugin: , gfd: , migStrategy: }\nsharing: {timeSlicing: , mps: }\n",
        "imex: {channelIDs: }\n", "imex: {channelIDs: []}\n"}) {
    const auto parsed = ParsePlugin(text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
    EXPECT_EQ(parsed->config, expected) << text;
    EXPECT_TRUE(parsed->warnings.empty()) << text;
  }
}

TEST(PluginConfig, HasDefaultsOfItsOwnUnderItsOwnName) {
  const auto parsed = ParsePlugin("", {.defaults = PluginDefaults::kProduct});
  EXPECT_EQ(parsed->config.list_strategies, std::vector{ListStrategy::kCdiCri});
  EXPECT_EQ(parsed->config.cdi_hook_path, "");
  EXPECT_EQ(parsed->config.mig_strategy, MigStrategy::kNone);
  EXPECT_FALSE(parsed->config.fail_on_init_error);
  EXPECT_TRUE(parsed->given.empty());
}

constexpr const char* kEverything =
    "version: v1\n"
    "flags:\n"
    "  migStrategy: mixed\n"
    "  failOnInitError: false\n"
    "  mpsRoot: /run/nvidia/mps\n"
    "  nvidiaDriverRoot: /run/nvidia/driver\n"
    "  nvidiaDevRoot: /host\n"
    "  gdrcopyEnabled: true\n"
    "  gdsEnabled: yes\n"
    "  mofedEnabled: on\n"
    "  deviceDiscoveryStrategy: nvml\n"
    "  plugin:\n"
    "    passDeviceSpecs: true\n"
    "    deviceListStrategy: [cdi-cri, volume-mounts, cdi-cri]\n"
    "    deviceIDStrategy: index\n"
    "    cdiAnnotationPrefix: nvidia.cdi.k8s.io/\n"
    "    nvidiaCTKPath: /opt/nvidia-ctk\n"
    "    containerDriverRoot: /host/driver\n"
    "    sharedDevicesAllocationPolicy: packed\n"
    "imex: {channelIDs: [0], required: true}\n";

TEST(PluginConfig, ReadsEveryOption) {
  const auto parsed = ParsePlugin(kEverything);
  ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
  PluginConfig expected;
  expected.mig_strategy = MigStrategy::kMixed;
  expected.fail_on_init_error = false;
  expected.mps_root = "/run/nvidia/mps";
  expected.driver_root = "/run/nvidia/driver";
  expected.dev_root = "/host";
  expected.gdrcopy = expected.gds = expected.mofed = true;
  expected.discovery = "nvml";
  expected.pass_device_specs = true;
  expected.list_strategies = {ListStrategy::kCdiCri, ListStrategy::kVolumeMounts};
  expected.id_strategy = IdStrategy::kIndex;
  expected.cdi_annotation_prefix = "nvidia.cdi.k8s.io/";
  expected.cdi_hook_path = "/opt/nvidia-ctk";
  expected.container_driver_root = "/host/driver";
  expected.share_policy = SharePolicy::kPacked;
  expected.imex_channels = {0};
  expected.imex_required = true;
  EXPECT_EQ(parsed->config, expected);
  EXPECT_TRUE(parsed->warnings.empty());
  EXPECT_EQ(parsed->given.at("flags.migStrategy"), "c.yaml:3:16");
  EXPECT_EQ(parsed->given.at("imex.channelIDs"), "c.yaml:20:20");
}

// A row without a member would be read and ignored.
TEST(PluginConfig, BindsEveryOptionThatIsThePlugins) {
  const auto parsed = ParsePlugin(kEverything);
  ASSERT_TRUE(parsed.ok());
  for (const PluginOption& option : PluginOptions()) {
    if (option.key.empty() || option.for_feature_discovery) continue;
    ASSERT_TRUE(option.set && option.get) << option.key;
    EXPECT_TRUE(parsed->given.contains(option.key)) << option.key;
    EXPECT_NE(option.get(parsed->config), option.get(ParsePlugin("")->config)) << option.key;
    EXPECT_FALSE(option.flags.empty() || option.variables.empty() || option.help.empty())
        << option.key;
  }
}

TEST(PluginConfig, TakesABareWordForAListStrategyAndJson) {
  EXPECT_EQ(
      ParsePlugin("flags: {plugin: {deviceListStrategy: volume-mounts}}")->config.list_strategies,
      std::vector{ListStrategy::kVolumeMounts});
  const auto json = ParsePlugin(
      "{\n\t\"version\": \"v1\",\n\t\"flags\": {\n\t\t\"migStrategy\": \"single\"\n\t}\n}\n");
  ASSERT_TRUE(json.ok()) << json.error().ToString();
  EXPECT_EQ(json->config.mig_strategy, MigStrategy::kSingle);
}

TEST(PluginConfig, TellsAllProblemsWithTheirPlaces) {
  EXPECT_EQ(PluginErrorOf("version: v2\n"
                          "flags:\n"
                          "  migStrategy: mixd\n"
                          "  failOnInitError: \"true\"\n"
                          "  nvidiaDriverRoot: driver\n"
                          "  deviceDiscoveryStrategy: tegra\n"
                          "  plugin:\n"
                          "    deviceListStrategy: [envvar, cdi]\n"
                          "    cdiAnnotationPrefix: cdi.k8s.io\n"
                          "  gfd: {sleepInterval: 5}\n"
                          "imex: {channelIDs: [0, 2]}\n"
                          "sharing: [a]\n"),
            "c.yaml:1:10: unknown version: v2\n"
            "    1 | version: v2\n"
            "      |          ^^ only v1 exists\n"
            "c.yaml:3:16: expected none, single or mixed, not \"mixd\"\n"
            "    3 |   migStrategy: mixd\n"
            "      |                ^^^^ did you mean \"mixed\"?\n"
            "c.yaml:4:20: expected true or false, not \"true\"\n"
            "    4 |   failOnInitError: \"true\"\n"
            "      |                    ^^^^^^ write it without quotes\n"
            "c.yaml:5:21: \"driver\" is no absolute path\n"
            "    5 |   nvidiaDriverRoot: driver\n"
            "      |                     ^^^^^^ it begins with /\n"
            "c.yaml:6:28: \"tegra\" is not served\n"
            "    6 |   deviceDiscoveryStrategy: tegra\n"
            "      |                            ^^^^^ GPUs are found through NVML only: write "
            "auto or nvml\n"
            "c.yaml:8:34: expected envvar, volume-mounts, cdi-annotations or cdi-cri, not \"cdi\"\n"
            "    8 |     deviceListStrategy: [envvar, cdi]\n"
            "      |                                  ^^^\n"
            "c.yaml:9:26: \"cdi.k8s.io\" is no prefix of an annotation\n"
            "    9 |     cdiAnnotationPrefix: cdi.k8s.io\n"
            "      |                          ^^^^^^^^^^ a domain with a slash behind it, as "
            "cdi.k8s.io/\n"
            "c.yaml:10:24: expected a duration, not \"5\"\n"
            "   10 |   gfd: {sleepInterval: 5}\n"
            "      |                        ^ with a unit, as 60s, or infinite\n"
            "c.yaml:11:24: expected 0, not \"2\"\n"
            "   11 | imex: {channelIDs: [0, 2]}\n"
            "      |                        ^ it must be [] or [0]: no other channel is served\n"
            "c.yaml:12:10: expected the settings of \"sharing\", not a list\n"
            "   12 | sharing: [a]\n"
            "      |          ^ write it as \"key: value\" lines");
}

TEST(PluginConfig, RefusesAnEmptyListADuplicateAndWhatIsNoMap) {
  EXPECT_EQ(PluginErrorOf("flags: {plugin: {deviceListStrategy: []}}\n"),
            "c.yaml:1:38: \"flags.plugin.deviceListStrategy\" is empty\n"
            "    1 | flags: {plugin: {deviceListStrategy: []}}\n"
            "      |                                      ^ it needs at least one of envvar, "
            "volume-mounts, cdi-annotations or cdi-cri");
  EXPECT_EQ(PluginErrorOf("flags: {}\nflags: {}\n"),
            "c.yaml:2:1: duplicate key \"flags\"\n"
            "    2 | flags: {}\n"
            "      | ^^^^^ it is already in line 1");
  EXPECT_EQ(PluginErrorOf("envvar\n"),
            "c.yaml:1:1: expected the device plugin's configuration, not \"envvar\"\n"
            "    1 | envvar\n"
            "      | ^^^^^^ write it as \"key: value\" lines");
  EXPECT_NE(PluginErrorOf("imex: {channelIDs: 0}\n"), "");
  EXPECT_NE(PluginErrorOf("imex: {channelIDs: [0, x]}\n"), "");
}

TEST(PluginConfig, WarnsOfUnknownKeysWithTheirPlaces) {
  const auto parsed = ParsePlugin(
      "flags: {MigStrategy: single, passDeviceSpecs: true}\n"
      "flavour: x\n"
      "sharing:\n"
      "  renameByDefault: true\n"
      "  timeSlicing: {resources: [{name: gpu, replicas: 2, replica: 3}]}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
  EXPECT_EQ(parsed->config.mig_strategy, MigStrategy::kNone);
  EXPECT_EQ(
      parsed->warnings,
      // Texts of three lines.
      (std::vector<std::string>{
          // NOLINTNEXTLINE(bugprone-suspicious-missing-comma)
          "c.yaml:1:9: unknown key \"MigStrategy\" is ignored\n"
          "    1 | flags: {MigStrategy: single, passDeviceSpecs: true}\n"
          "      |         ^^^^^^^^^^^ case counts: write \"migStrategy\"",
          "c.yaml:1:30: unknown key \"passDeviceSpecs\" is ignored\n"
          "    1 | flags: {MigStrategy: single, passDeviceSpecs: true}\n"
          "      |                              ^^^^^^^^^^^^^^^ it belongs under \"flags.plugin\"",
          "c.yaml:2:1: unknown key \"flavour\" is ignored\n"
          "    2 | flavour: x\n"
          "      | ^^^^^^^ known here: version, flags, resources, sharing, imex",
          "c.yaml:4:3: unknown key \"renameByDefault\" is ignored\n"
          "    4 |   renameByDefault: true\n"
          "      |   ^^^^^^^^^^^^^^^ it belongs under \"sharing.timeSlicing\"",
          "c.yaml:5:54: unknown key \"replica\" is ignored\n"
          "    5 |   timeSlicing: {resources: [{name: gpu, replicas: 2, replica: 3}]}\n"
          "      |                                                      ^^^^^^^ did you mean "
          "\"replicas\"?"}));
}

TEST(PluginConfig, RefusesUnknownKeysWhereItIsStrict) {
  EXPECT_EQ(PluginErrorOf("flavour: x\n", {.strict = true}),
            "c.yaml:1:1: unknown key \"flavour\"\n"
            "    1 | flavour: x\n"
            "      | ^^^^^^^ known here: version, flags, resources, sharing, imex");
}

TEST(PluginConfig, ChecksWhatIsForFeatureDiscoveryAndSaysSo) {
  const char* text =
      "flags:\n"
      "  useNodeFeatureAPI: true\n"
      "  gfd: {oneshot: false, noTimestamp: true, sleepInterval: infinite, outputFile: /a,\n"
      "    machineTypeFile: \"\"}\n";
  for (const bool strict : {false, true}) {
    const auto parsed = ParsePlugin(text, {.strict = strict});
    ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
    EXPECT_EQ(parsed->warnings,
              (std::vector<std::string>{
                  "c.yaml:2:3: \"flags.useNodeFeatureAPI\" is for gpu-feature-discovery\n"
                  "    2 |   useNodeFeatureAPI: true\n"
                  "      |   ^^^^^^^^^^^^^^^^^ the device plugin does nothing with it",
                  "c.yaml:3:3: \"flags.gfd\" is for gpu-feature-discovery\n"
                  "    3 |   gfd: {oneshot: false, noTimestamp: true, sleepInterval: infinite, "
                  "outputFile: /a,\n"
                  "      |   ^^^ the device plugin does nothing with it"}));
  }
  // An agent labels the node itself.
  const auto agents = ParsePlugin(text, {.defaults = PluginDefaults::kProduct, .strict = true});
  ASSERT_TRUE(agents.ok()) << agents.error().ToString();
  EXPECT_EQ(agents->config.feature_discovery.use_node_feature_api, true);
  EXPECT_EQ(agents->given.at("flags.useNodeFeatureAPI"), "c.yaml:2:22");
  ASSERT_EQ(agents->warnings.size(), 1U);
  EXPECT_TRUE(agents->warnings[0].ends_with(
      "^^^ write \"labels.file\" and \"labels.resync\" in the agent's configuration"))
      << agents->warnings[0];
  const std::string kept = base::ToJson(PluginConfigDocument(agents->config));
  EXPECT_EQ(ParsePlugin(kept, {.defaults = PluginDefaults::kProduct})->config, agents->config);
  for (const char* good : {"0", "\"0s\"", "5s", "1m30s", "infinite"})
    EXPECT_EQ(PluginErrorOf(std::string("flags: {gfd: {sleepInterval: ") + good + "}}"), "")
        << good;
  for (const char* bad : {"5", "5ms", "soon", "[1s]"})
    EXPECT_NE(PluginErrorOf(std::string("flags: {gfd: {sleepInterval: ") + bad + "}}"), "") << bad;
  EXPECT_NE(PluginErrorOf("flags: {gfd: {oneshot: 3}}"), "");
}

constexpr const char* kPatterns =
    "resources:\n"
    "  gpus:\n"
    "  - {pattern: \"NVIDIA H200*\", name: h200}\n"
    "  mig:\n"
    "  - {pattern: 1g.*, name: nvidia.com/small}\n";

TEST(PluginConfig, ReadsPatternsWhereTheyAreHonoured) {
  const auto parsed = ParsePlugin(kPatterns, {.honour_resources = true});
  ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
  EXPECT_EQ(parsed->config.gpu_names,
            (std::vector<ResourcePattern>{{"NVIDIA H200*", "nvidia.com/h200"}}));
  EXPECT_EQ(parsed->config.mig_names, (std::vector<ResourcePattern>{{"1g.*", "nvidia.com/small"}}));
  EXPECT_TRUE(parsed->warnings.empty());
}

TEST(PluginConfig, SaysThatPatternsAreIgnoredElsewhere) {
  const auto parsed = ParsePlugin(kPatterns);
  ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
  EXPECT_TRUE(parsed->config.gpu_names.empty());
  EXPECT_EQ(parsed->warnings,
            (std::vector<std::string>{
                "c.yaml:1:1: \"resources\" is ignored, as NVIDIA's device plugin ignores it\n"
                "    1 | resources:\n"
                "      | ^^^^^^^^^ set \"devicePlugin.honourResources: true\" in the agent's "
                "configuration"}));
  for (const char* text :
       {"resources: {gpus: [{pattern: x}]}", "resources: {gpus: [{name: x}]}",
        "resources: {mig: [{pattern: x, name: $invalid$}]}", "resources: {mig: 3}",
        "resources: {mig: [x]}", "resources: {mig: [{pattern: \"\", name: x}]}"})
    EXPECT_NE(PluginErrorOf(text), "") << text;
}

TEST(PluginConfig, SaysWhatMeansNothingToAnAgent) {
  const char* text = "flags:\n  failOnInitError: true\n";
  EXPECT_TRUE(ParsePlugin(text)->warnings.empty()) << "under the reference's name it counts";
  const auto parsed = ParsePluginConfig(text, "c.yaml", PluginDefaults::kProduct, false, false, {});
  ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
  EXPECT_EQ(parsed->warnings,
            (std::vector<std::string>{
                "c.yaml:2:3: \"failOnInitError\" means nothing to an agent\n"
                "    2 |   failOnInitError: true\n"
                "      |   ^^^^^^^^^^^^^^^ it stays and waits for the driver; under the name "
                "nvidia-device-plugin it ends"}));
  EXPECT_TRUE(ParsePluginConfig("flags: {failOnInitError: false}", "c.yaml",
                                PluginDefaults::kProduct, false, false, {})
                  ->warnings.empty());
}

TEST(PluginConfig, AnchorsPatternsAtBothEnds) {
  const auto matches = [](const char* pattern, const char* text) {
    return ResourcePattern{pattern, ""}.Matches(text);
  };
  EXPECT_TRUE(matches("1g.24gb", "1g.24gb"));
  for (const char* other : {"1g.24gb-me", "1g.24gb+me.all", "1g.24gb+gfx", "x1g.24gb", "1gx24gb"})
    EXPECT_FALSE(matches("1g.24gb", other)) << other;
  EXPECT_TRUE(matches("*", "anything"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("1g.*", "1g.24gb"));
  EXPECT_FALSE(matches("1g.*", "2g.48gb"));
  EXPECT_TRUE(matches("*gb", "1g.24gb"));
  EXPECT_FALSE(matches("*gb", "1g.24gb-me"));
  EXPECT_TRUE(matches("N*A*0", "NVIDIA A100"));
  EXPECT_FALSE(matches("ab*ba", "aba"));
  EXPECT_TRUE(matches("ab*ba", "abba"));
  EXPECT_TRUE(matches("a**c", "abc"));
}

TEST(PluginConfig, LetsFlagsAndVariablesWinOverTheFile) {
  const auto parsed = ParsePlugin(
      "flags: {migStrategy: single, gdsEnabled: true, plugin: {deviceListStrategy: envvar}}\n",
      {.overrides = {
           {"flags.migStrategy", "mixed", "--mig-strategy"},
           {"flags.gdsEnabled", "F", "GDS_ENABLED"},
           {"flags.mofedEnabled", "1", "MOFED_ENABLED"},
           {"flags.plugin.deviceListStrategy", "cdi-cri, volume-mounts", "DEVICE_LIST_STRATEGY"},
           {"imex.channelIDs", "", "IMEX_CHANNEL_IDS"}}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
  EXPECT_EQ(parsed->config.mig_strategy, MigStrategy::kMixed);
  EXPECT_FALSE(parsed->config.gds);
  EXPECT_TRUE(parsed->config.mofed);
  EXPECT_EQ(parsed->config.list_strategies,
            (std::vector{ListStrategy::kCdiCri, ListStrategy::kVolumeMounts}));
  EXPECT_EQ(parsed->given.at("flags.migStrategy"), "--mig-strategy");
  EXPECT_EQ(parsed->given.at("flags.gdsEnabled"), "GDS_ENABLED");
}

TEST(PluginConfig, SaysWhichFlagOrVariableIsWrong) {
  const auto error = [](const char* key, const char* value, const char* where) {
    return PluginErrorOf("", {.overrides = {{key, value, where}}});
  };
  EXPECT_EQ(error("flags.migStrategy", "x", "MIG_STRATEGY"),
            "MIG_STRATEGY: expected none, single or mixed, not \"x\"");
  EXPECT_EQ(error("flags.gdsEnabled", "yes", "--gds-enabled"),
            "--gds-enabled: expected true or false, not \"yes\"");
  EXPECT_EQ(error("flags.plugin.deviceListStrategy", "", "DEVICE_LIST_STRATEGY"),
            "DEVICE_LIST_STRATEGY: expected envvar, volume-mounts, cdi-annotations or cdi-cri, "
            "not \"\"");
  EXPECT_EQ(error("imex.channelIDs", "0,1", "--imex-channel-ids"),
            "--imex-channel-ids: expected 0, not \"1\"");
  EXPECT_EQ(error("flags.deviceDiscoveryStrategy", "vfio", "--device-discovery-strategy"),
            "--device-discovery-strategy: \"vfio\" is not served");
}

TEST(PluginConfig, JudgesAnnotationPrefixes) {
  for (const char* good : {"cdi.k8s.io/", "nvidia.cdi.k8s.io/", "a/b-c", "a/abcdef"})
    EXPECT_EQ(PluginErrorOf(std::string("flags: {plugin: {cdiAnnotationPrefix: ") + good + "}}"),
              "")
        << good;
  for (const char* bad : {"cdi.k8s.io", "/", "A/", "a/-b", "a/abcdefg", "\"\"", "a/b/"})
    EXPECT_NE(PluginErrorOf(std::string("flags: {plugin: {cdiAnnotationPrefix: ") + bad + "}}"), "")
        << bad;
}

TEST(PluginConfig, ReadsBackWhatItShows) {
  const std::string text = std::string(kEverything) + kPatterns +
                           "sharing:\n  timeSlicing:\n    renameByDefault: true\n    resources:\n"
                           "    - {name: gpu, replicas: 4, devices: [0, \"1\"]}\n"
                           "    - {name: mig-1g.5gb, replicas: 2, devices: 3, rename: tiny}\n";
  for (const std::string& each : {std::string(), text}) {
    const auto parsed = ParsePlugin(each, {.honour_resources = true});
    ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
    const base::Value document = PluginConfigDocument(parsed->config);
    for (const std::string& shown : {base::ToJson(document), base::ToYaml(document)}) {
      const auto again = ParsePlugin(shown, {.strict = true, .honour_resources = true});
      ASSERT_TRUE(again.ok()) << again.error().ToString();
      EXPECT_EQ(again->config, parsed->config) << shown;
      EXPECT_TRUE(again->warnings.empty()) << again->warnings.front();
    }
  }
}

TEST(PluginConfig, ShowsItsDefaultsAsTheReferenceDoes) {
  EXPECT_EQ(base::ToJson(PluginConfigDocument(ParsePlugin("")->config)),
            "{\n"
            "  \"version\": \"v1\",\n"
            "  \"flags\": {\n"
            "    \"migStrategy\": \"none\",\n"
            "    \"failOnInitError\": true,\n"
            "    \"mpsRoot\": \"\",\n"
            "    \"nvidiaDriverRoot\": \"/\",\n"
            "    \"nvidiaDevRoot\": \"\",\n"
            "    \"gdrcopyEnabled\": false,\n"
            "    \"gdsEnabled\": false,\n"
            "    \"mofedEnabled\": false,\n"
            "    \"deviceDiscoveryStrategy\": \"auto\",\n"
            "    \"plugin\": {\n"
            "      \"passDeviceSpecs\": false,\n"
            "      \"deviceListStrategy\": [\n"
            "        \"envvar\"\n"
            "      ],\n"
            "      \"deviceIDStrategy\": \"uuid\",\n"
            "      \"cdiAnnotationPrefix\": \"cdi.k8s.io/\",\n"
            "      \"nvidiaCTKPath\": \"/usr/bin/nvidia-ctk\",\n"
            "      \"containerDriverRoot\": \"/driver-root\",\n"
            "      \"sharedDevicesAllocationPolicy\": \"distributed\"\n"
            "    }\n"
            "  },\n"
            "  \"imex\": {\n"
            "    \"channelIDs\": [],\n"
            "    \"required\": false\n"
            "  }\n"
            "}\n");
}

}  // namespace
}  // namespace partita::config
