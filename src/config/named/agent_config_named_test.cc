// Configurations of the device plugin with names: what the agent's file says of them.

#include <stdlib.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/value.h"
#include "config/agent_config.h"

namespace partita::config {
namespace {

base::Result<AgentConfig> ParseNamed(const std::string& text) {
  return ParseAgentConfig("version: partita/v1\n" + text, "c.yaml", {});
}

TEST(NamedPluginConfigs, AreInAFolderWhereNothingIsSaid) {
  const auto config = ParseNamed("");
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(HasNamedConfigs(*config));
  EXPECT_EQ(SelectionOf(*config), (Selection{.fallback = {Fallback::kNamed, Fallback::kSingle},
                                             .optional = true,
                                             .source = "/etc/partita/device-plugin.d",
                                             .label_key = "nvidia.com/device-plugin.config"}));
  EXPECT_EQ(NamedConfigPlace(*config, "ts4"), "/etc/partita/device-plugin.d/ts4");
}

TEST(NamedPluginConfigs, AreWhereTheFileSays) {
  const auto config = ParseNamed(
      "devicePlugin:\n  configMap: gpu/plugin-configs\n  selectLabel: example.com/gpu\n"
      "  default: whole\n  fallback: [empty]\n");
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(SelectionOf(*config), (Selection{.default_name = "whole",
                                             .fallback = {Fallback::kEmpty},
                                             .source = "configmap/gpu/plugin-configs",
                                             .label_key = "example.com/gpu",
                                             .default_where = "c.yaml:5:12"}));
  EXPECT_EQ(NamedConfigPlace(*config, "ts4"), "configmap/gpu/plugin-configs/ts4");
  EXPECT_FALSE(SelectionOf(*ParseNamed("devicePlugin: {configDir: /a}\n")).optional);
  EXPECT_TRUE(SelectionOf(*ParseNamed("devicePlugin: {fallback: []}\n")).fallback.empty());
}

TEST(NamedPluginConfigs, AreNotWhereOneIsWrittenDown) {
  EXPECT_FALSE(HasNamedConfigs(*ParseNamed("devicePlugin: {configFile: /a.yaml}\n")));
  EXPECT_FALSE(HasNamedConfigs(*ParseNamed("devicePlugin: {config: {version: v1}}\n")));
  EXPECT_FALSE(HasNamedConfigs(*ParseNamed("devicePlugin: {configDir: \"\"}\n")));
  EXPECT_EQ(ParseNamed("devicePlugin: {configMap: a/b, configDir: /d}\n").error().ToString(),
            "c.yaml:2:16: \"configDir\" and \"configMap\" are both there\n"
            "    2 | devicePlugin: {configMap: a/b, configDir: /d}\n"
            "      |                ^^^^^^^^^ keep one of them\n"
            "c.yaml:2:32: \"configDir\" and \"configMap\" are both there\n"
            "    2 | devicePlugin: {configMap: a/b, configDir: /d}\n"
            "      |                                ^^^^^^^^^ keep one of them");
}

TEST(NamedPluginConfigs, AreRefusedWithThePlace) {
  EXPECT_EQ(
      ParseNamed("devicePlugin: {configMap: plugin-configs, selectLabel: gpu, fallback: "
                 "[named, first]}\n")
          .error()
          .ToString(),
      "c.yaml:2:27: \"plugin-configs\" is no namespace and name\n"
      "    2 | devicePlugin: {configMap: plugin-configs, selectLabel: gpu, fallback: [named, "
      "first]}\n"
      "      |                           ^^^^^^^^^^^^^^ write NAMESPACE/NAME\n"
      "c.yaml:2:56: \"gpu\" is no key of a label\n"
      "    2 | devicePlugin: {configMap: plugin-configs, selectLabel: gpu, fallback: [named, "
      "first]}\n"
      "      |                                                        ^^^ a DNS name, / and up "
      "to 63 letters, digits, -, _ and .: nvidia.com/gpu.config\n"
      "c.yaml:2:79: expected named, single or empty, not \"first\"\n"
      "    2 | devicePlugin: {configMap: plugin-configs, selectLabel: gpu, fallback: [named, "
      "first]}\n"
      "      |                                                                               "
      "^^^^^");
}

TEST(NamedPluginConfigs, ReadBackAsTheyAreShown) {
  for (const char* text :
       {"", "devicePlugin: {fallback: []}\n", "devicePlugin: {config: {version: v1}}\n",
        "devicePlugin: {configMap: a/b, fallback: [single, empty]}\n"}) {
    const auto config = ParseNamed(text);
    ASSERT_TRUE(config.ok()) << config.error().ToString();
    const std::string shown = base::ToYaml(AgentConfigDocument(*config));
    const auto again = ParseAgentConfig(shown, "c.yaml", {});
    ASSERT_TRUE(again.ok()) << again.error().ToString();
    EXPECT_EQ(base::ToYaml(AgentConfigDocument(*again)), shown);
    Selection before = SelectionOf(*config), after = SelectionOf(*again);
    after.default_where = before.default_where;  // as anything else that is written out
    EXPECT_EQ(after, before) << shown;
  }
}

TEST(NamedPluginConfigs, AreAllJudgedAtOnce) {
  std::string pattern = std::filesystem::temp_directory_path() / "partita-judged-XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  const auto check = [&](const std::string& more) {
    const auto config = ParseNamed("devicePlugin: {configDir: " + folder + more + "}\n");
    const auto checked = CheckNamedConfigs(*config);
    return checked.ok() ? "" : checked.error().ToString();
  };
  ASSERT_TRUE(base::WriteFile(folder + "/ts4", "version: v1\n", 0644).ok());
  EXPECT_EQ(check(""), "");
  EXPECT_EQ(check(", default: ts4"), "");
  EXPECT_EQ(check(", default: whole"), "c.yaml:2:" + std::to_string(27 + folder.size() + 11) +
                                           ": devicePlugin.default: no configuration in " + folder +
                                           " is called \"whole\"");
  ASSERT_TRUE(
      base::WriteFile(folder + "/bad", "version: v1\nflags: {migStrategy: some}\n", 0644).ok());
  EXPECT_TRUE(check("").starts_with(folder + "/bad:2:22: ")) << check("");
  ASSERT_TRUE(base::RemoveTree(folder).ok());
  EXPECT_TRUE(check("").starts_with("c.yaml:2:27: devicePlugin.configDir: ")) << check("");
  EXPECT_TRUE(CheckNamedConfigs(*ParseNamed("")).ok());
}

}  // namespace
}  // namespace partita::config
