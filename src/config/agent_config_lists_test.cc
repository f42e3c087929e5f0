#include "config/agent_config_lists.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "config/agent_config.h"

namespace partita::config {
namespace {

using namespace std::chrono_literals;

base::Result<AgentConfig> ParseLists(const std::string& text) {
  return ParseAgentConfig("version: partita/v1\n" + text, "c.yaml", {});
}

std::string ListsErrorOf(const std::string& text) {
  const auto config = ParseLists(text);
  return config.ok() ? "" : config.error().ToString();
}

std::string OriginOf(const AgentConfig& config, const std::string& key) {
  for (const KeyedSetting& each : AllSettings(config))
    if (each.key == key) return each.setting.value + " " + each.setting.origin.where;
  return "absent";
}

TEST(OfferRules, SelectByEveryKey) {
  const auto config = ParseLists(
      "offer:\n"
      "  default: none\n"
      "  rules:\n"
      "  - select: {index: [2, 3], uuid: GPU-a, pci: 65:00.0, product: [H200, \"NVIDIA A30\"],\n"
      "      numa: 1, profile: [1g.18gb, MIG 1g.18gb+me]}\n"
      "    via: device-plugin\n"
      "  - {select: {}, via: none}\n");
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->offer_default.value, "none");
  ASSERT_EQ(config->offer_rules.size(), 2U);
  model::GpuSelect select;
  select.index = {model::GpuIndex(2), model::GpuIndex(3)};
  select.uuid = {model::GpuUuid("GPU-a")};
  select.pci = {*model::PciAddress::Parse("0000:65:00.0")};
  select.product = {"H200", "NVIDIA A30"};
  select.numa = {1};
  select.profile = {"1g.18gb", "1g.18gb+me"};
  EXPECT_EQ(config->offer_rules[0], (OfferRule{select, true, {"c.yaml", 5, 5}}));
  EXPECT_EQ(config->offer_rules[1], (OfferRule{{}, false, {"c.yaml", 8, 5}}));
  EXPECT_EQ(OriginOf(*config, "offer.rules[1]"), "{\"select\":{},\"via\":\"none\"} c.yaml:8:5");
}

TEST(OfferRules, TellWhatIsWrong) {
  EXPECT_EQ(
      ListsErrorOf("offer:\n"
                   "  rules:\n"
                   "  - {select: {indx: 1, uuid: MIG-a, pci: x, profile: 9z, numa: -1}, via: dra}\n"
                   "  - {via: kubelet}\n"
                   "  - {select: {index: []}, via: vm, why: x}\n"),
      "c.yaml:4:15: unknown key \"indx\"\n"
      "    4 |   - {select: {indx: 1, uuid: MIG-a, pci: x, profile: 9z, numa: -1}, via: dra}\n"
      "      |               ^^^^ did you mean \"index\"?\n"
      "c.yaml:4:30: \"MIG-a\" is no UUID of a GPU\n"
      "    4 |   - {select: {indx: 1, uuid: MIG-a, pci: x, profile: 9z, numa: -1}, via: dra}\n"
      "      |                              ^^^^^ it begins with GPU-: nvidia-smi -L shows them\n"
      "c.yaml:4:42: \"x\" is not a PCI address\n"
      "    4 |   - {select: {indx: 1, uuid: MIG-a, pci: x, profile: 9z, numa: -1}, via: dra}\n"
      "      |                                          ^ write it as sysfs does, for example "
      "0000:07:00.0\n"
      "c.yaml:4:54: \"9z\" is not a MIG profile name: it needs slices and memory\n"
      "    4 |   - {select: {indx: 1, uuid: MIG-a, pci: x, profile: 9z, numa: -1}, via: dra}\n"
      "      |                                                      ^^ write it like 1g.5gb, "
      "1c.3g.20gb or 1g.10gb+me\n"
      "c.yaml:4:64: expected a number from 0 to 2147483647, not \"-1\"\n"
      "    4 |   - {select: {indx: 1, uuid: MIG-a, pci: x, profile: 9z, numa: -1}, via: dra}\n"
      "      |                                                                ^^\n"
      "c.yaml:4:74: \"dra\" comes with dynamic resource allocation\n"
      "    4 |   - {select: {indx: 1, uuid: MIG-a, pci: x, profile: 9z, numa: -1}, via: dra}\n"
      "      |                                                                          ^^^ until "
      "then write device-plugin or none\n"
      "c.yaml:5:5: missing key \"select\"\n"
      "    5 |   - {via: kubelet}\n"
      "      |     ^\n"
      "c.yaml:5:11: expected device-plugin or none, not \"kubelet\"\n"
      "    5 |   - {via: kubelet}\n"
      "      |           ^^^^^^^\n"
      "c.yaml:6:22: \"index\" is empty\n"
      "    6 |   - {select: {index: []}, via: vm, why: x}\n"
      "      |                      ^ leave the key out, or name one\n"
      "c.yaml:6:32: \"vm\" comes with virtual machines\n"
      "    6 |   - {select: {index: []}, via: vm, why: x}\n"
      "      |                                ^^ until then write device-plugin or none\n"
      "c.yaml:6:36: unknown key \"why\"\n"
      "    6 |   - {select: {index: []}, via: vm, why: x}\n"
      "      |                                    ^^^ known here: select, via");
}

TEST(HealthXids, AreAWordOrAMap) {
  const auto config = ParseLists(
      "health:\n"
      "  preset: reference\n"
      "  xids: {\"94\": event, 31: {policy: reset, clearAfter: 10m}, 13: {policy: ignore}}\n");
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->health_preset.value, "reference");
  EXPECT_EQ(config->health_xids,
            (std::vector<XidRule>{{13, XidPolicy::kIgnore, std::nullopt, {"c.yaml", 4, 61}},
                                  {31, XidPolicy::kReset, 600s, {"c.yaml", 4, 23}},
                                  {94, XidPolicy::kEvent, std::nullopt, {"c.yaml", 4, 10}}}));
  EXPECT_EQ(OriginOf(*config, "health.xids.94"), "event c.yaml:4:10");
  EXPECT_EQ(OriginOf(*config, "health.xids.31"),
            "{\"policy\":\"reset\",\"clearAfter\":\"600s\"} c.yaml:4:23");
  EXPECT_EQ(OriginOf(*config, "health.xids"), "absent");
  EXPECT_EQ(OriginOf(*ParseLists(""), "health.xids"), "{} ");
}

TEST(HealthXids, TellWhatIsWrong) {
  EXPECT_EQ(ListsErrorOf("health:\n"
                         "  autoReset: idle\n"
                         "  preset: nvidia\n"
                         "  xids:\n"
                         "    all: event\n"
                         "    31: {clearAfter: 10}\n"
                         "    \"031\": rest\n"
                         "    13: {policy: ignore, clearAfter: 5s}\n"),
            "c.yaml:3:14: \"idle\" comes with resets of GPUs\n"
            "    3 |   autoReset: idle\n"
            "      |              ^^^^ until then write off\n"
            "c.yaml:4:11: expected catalogue, reference or gke, not \"nvidia\"\n"
            "    4 |   preset: nvidia\n"
            "      |           ^^^^^^\n"
            "c.yaml:6:5: \"all\" is no XID\n"
            "    6 |     all: event\n"
            "      |     ^^^ it is a number up to 65535\n"
            "c.yaml:7:9: missing key \"policy\"\n"
            "    7 |     31: {clearAfter: 10}\n"
            "      |         ^\n"
            "c.yaml:7:22: expected a duration of a second or more, not \"10\"\n"
            "    7 |     31: {clearAfter: 10}\n"
            "      |                      ^^ with a unit, as 10m\n"
            "c.yaml:8:5: XID 31 is there twice\n"
            "    8 |     \"031\": rest\n"
            "      |     ^^^^^\n"
            "c.yaml:8:12: expected ignore, event, reset, reboot or replace, not \"rest\"\n"
            "    8 |     \"031\": rest\n"
            "      |            ^^^^ did you mean \"reset\"?\n"
            "c.yaml:9:38: \"clearAfter\" means nothing where the XID is ignored\n"
            "    9 |     13: {policy: ignore, clearAfter: 5s}\n"
            "      |                                      ^^ take it out");
}

TEST(HealthXids, AreNumbersThatADriverHas) {
  EXPECT_EQ(ListsErrorOf("health:\n"
                         "  xids:\n"
                         "    \"99999999999\": reset\n"),
            "c.yaml:4:5: \"99999999999\" is no XID\n"
            "    4 |     \"99999999999\": reset\n"
            "      |     ^^^^^^^^^^^^^ it is a number up to 65535");
}

constexpr const char* kInline =
    "devicePlugin:\n"
    "  config:\n"
    "    version: v1\n"
    "    flags: {migStrategy: mixed}\n"
    "    sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}\n";

TEST(InlinePluginConfig, IsReadWithItsPlaces) {
  const auto config = ParseLists(kInline);
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  const auto plugin = LoadPluginConfig(*config);
  ASSERT_TRUE(plugin.ok()) << plugin.error().ToString();
  EXPECT_EQ(plugin->config.mig_strategy, MigStrategy::kMixed);
  EXPECT_EQ(plugin->config.list_strategies, std::vector{ListStrategy::kCdiCri});
  EXPECT_EQ(plugin->config.time_slicing->resources.front().replicas, 4U);
  EXPECT_EQ(OriginOf(*config, "devicePlugin.config.flags.migStrategy"), "mixed c.yaml:5:26");
  EXPECT_FALSE(plugin->config.offer_mig_parents);
}

TEST(InlinePluginConfig, IsReadAsTheSettingsAroundItSay) {
  const auto config = ParseLists(
      "devicePlugin:\n"
      "  config: {colour: red, resources: {gpus: [{pattern: \"*\", name: h200}]}}\n"
      "  honourResources: true\n"
      "  offerMigParents: true\n");
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  const auto plugin = LoadPluginConfig(*config);
  EXPECT_EQ(plugin->config.gpu_names, (std::vector<ResourcePattern>{{"*", "nvidia.com/h200"}}));
  EXPECT_TRUE(plugin->config.offer_mig_parents);
  ASSERT_EQ(plugin->warnings.size(), 1U);
  EXPECT_TRUE(plugin->warnings[0].starts_with("c.yaml:3:12: unknown key \"colour\" is ignored"));
  EXPECT_EQ(
      ListsErrorOf("devicePlugin: {config: {colour: red}, strict: true}\n"),
      "c.yaml:2:25: unknown key \"colour\"\n"
      "    2 | devicePlugin: {config: {colour: red}, strict: true}\n"
      "      |                         ^^^^^^ known here: version, flags, resources, sharing, "
      "imex");
}

TEST(InlinePluginConfig, CannotStandBesideAFile) {
  EXPECT_EQ(ListsErrorOf("devicePlugin: {configFile: /a.yaml, config: {version: v1}}\n"),
            "c.yaml:2:16: \"configFile\" and \"config\" are both there\n"
            "    2 | devicePlugin: {configFile: /a.yaml, config: {version: v1}}\n"
            "      |                ^^^^^^^^^^ keep one of them\n"
            "c.yaml:2:37: \"configFile\" and \"config\" are both there\n"
            "    2 | devicePlugin: {configFile: /a.yaml, config: {version: v1}}\n"
            "      |                                     ^^^^^^ keep one of them");
  EXPECT_EQ(ListsErrorOf("devicePlugin: {configFile: /a.yaml, config: }\n"), "");
  EXPECT_EQ(ListsErrorOf("devicePlugin: {configFile: \"\", config: {version: v1}}\n"), "");
  EXPECT_NE(ListsErrorOf("devicePlugin: {config: {version: v2}}\n"), "");
}

TEST(AgentConfigLists, ReadBackAsTheyAreShown) {
  const auto config =
      ParseLists(std::string(kInline) +
                 "offer: {rules: [{select: {index: 1, numa: [0, 1], pci: 65:00.0}, via: none}]}\n"
                 "health: {xids: {94: event, 31: {policy: reset, clearAfter: 10m}}}\n");
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  const std::string shown = base::ToYaml(AgentConfigDocument(*config));
  const auto again = ParseAgentConfig(shown, "c.yaml", {});
  ASSERT_TRUE(again.ok()) << again.error().ToString();
  EXPECT_EQ(base::ToYaml(AgentConfigDocument(*again)), shown);
  EXPECT_EQ(again->plugin_inline->config, config->plugin_inline->config);
}

TEST(AgentConfigLists, AreAmongWhatChanged) {
  const auto changed = [](const std::string& before, const std::string& after) {
    return ChangedKeys(*ParseLists(before), *ParseLists(after));
  };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(changed("", "# another line\n"), Keys{});
  EXPECT_EQ(changed("log: {level: warn}\n", ""), Keys{"log.level"});
  EXPECT_EQ(changed("health: {xids: {94: event}}\n", "health: {xids: {94: reset, 31: event}}\n"),
            (Keys{"health.xids.31", "health.xids.94"}));
  // Beside a single one no folder counts.
  const Keys keys = {"devicePlugin.configDir", "devicePlugin.config.flags.migStrategy",
                     "devicePlugin.config.sharing.timeSlicing"};
  EXPECT_EQ(changed("", kInline), keys);
  EXPECT_EQ(changed(kInline, ""), keys);
}

class NamedPluginFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-plugin-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    file_ = directory_ + "/plugin.yaml";
  }
  void TearDown() override { (void)base::RemoveTree(directory_); }
  [[nodiscard]] AgentConfig Config() const {
    return *ParseLists("devicePlugin: {configFile: " + file_ + "}\n");
  }
  std::string directory_, file_;
};

TEST_F(NamedPluginFile, IsReadAndJudged) {
  EXPECT_EQ(CheckNamedFiles(Config()).error().code(), base::ErrorCode::kNotFound);
  ASSERT_TRUE(base::WriteFile(file_, "flags: {migStrategy: single}\n", 0644).ok());
  EXPECT_TRUE(CheckNamedFiles(Config()).ok());
  EXPECT_EQ(LoadPluginConfig(Config())->config.mig_strategy, MigStrategy::kSingle);
  ASSERT_TRUE(base::WriteFile(file_, "sharing: {mps: {}}\n", 0644).ok());
  const auto checked = CheckNamedFiles(Config());
  ASSERT_FALSE(checked.ok());
  EXPECT_TRUE(checked.error().ToString().starts_with(
      "c.yaml:2:28: devicePlugin.configFile: " + file_ + ":1:11: "))
      << checked.error().ToString();
}

TEST_F(NamedPluginFile, IsTheProductsDefaultsWhereNoneIsNamed) {
  EXPECT_EQ(LoadPluginConfig(*ParseLists(""))->config.list_strategies,
            std::vector{ListStrategy::kCdiCri});
}

}  // namespace
}  // namespace partita::config
