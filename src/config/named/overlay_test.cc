#include "config/named/overlay.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::config {
namespace {

base::Result<AgentConfig> Over(const std::string& file,
                               const std::string& overlay,
                               std::vector<Override> overrides = {}) {
  return ParseAgentConfigOver("version: partita/v1\n" + file, "c.yaml",
                              Overlay{"big", "version: partita/v1\n" + overlay, "o.yaml"},
                              overrides);
}

TEST(Overlay, CountsBeforeTheFileAndAfterFlags) {
  const auto config = Over("log: {level: warn, format: json}\nmig: {default: a}\n",
                           "log: {level: debug}\nmig: {default: b}\n",
                           {{"mig.default", "c", {OriginKind::kFlag, "--x"}}});
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->log_level, (Setting{"debug", {OriginKind::kFile, "o.yaml:2:14"}}));
  EXPECT_EQ(config->log_format, (Setting{"json", {OriginKind::kFile, "c.yaml:2:28"}}));
  EXPECT_EQ(config->mig_default.value, "c");
}

TEST(Overlay, ReplacesListsAndTheDevicePluginsSourceWhole) {
  const auto config =
      Over("devicePlugin: {configFile: /a.yaml}\nhealth: {xids: {94: event}}\n",
           "devicePlugin: {config: {flags: {migStrategy: mixed}}}\nhealth: {xids: {31: event}}\n");
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->plugin_config_file.value, "");
  ASSERT_TRUE(config->plugin_inline.has_value());
  ASSERT_EQ(config->health_xids.size(), 1U);
  EXPECT_EQ(config->health_xids[0].xid, 31U);
  const auto back =
      Over("devicePlugin: {config: {version: v1}}\n", "devicePlugin: {configMap: gpu/plugin}\n");
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  EXPECT_FALSE(back->plugin_inline.has_value());
  EXPECT_TRUE(HasNamedConfigs(*back));
  EXPECT_TRUE(Over("devicePlugin: {configFile: /a.yaml}\n", "log: {level: warn}\n")
                  ->plugin_config_file.value == "/a.yaml");
}

TEST(Overlay, IsWrongWithItsOwnPlace) {
  EXPECT_EQ(Over("", "log: {level: loud}\n").error().ToString(),
            "o.yaml:2:14: expected debug, info, warn or error, not \"loud\"\n"
            "    2 | log: {level: loud}\n"
            "      |              ^^^^");
}

TEST(Overlay, IsAFileBesideTheAgents) {
  std::string pattern = std::filesystem::temp_directory_path() / "partita-overlay-XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  const std::string file = folder + "/config.yaml";
  EXPECT_EQ(OverlayFolder("/etc/partita/config.yaml"), "/etc/partita/overlays");
  EXPECT_EQ(ReadOverlay(file, "big").error().hint(), "make the file, or take the label off");
  std::filesystem::create_directory(folder + "/overlays");
  ASSERT_TRUE(base::WriteFile(folder + "/overlays/big.yaml", "a", 0644).ok());
  EXPECT_EQ(*ReadOverlay(file, "big"), (Overlay{"big", "a", folder + "/overlays/big.yaml"}));
  const auto wrong = ReadOverlay(file, "bigg");
  EXPECT_TRUE(wrong.error().ToString().starts_with("node label partita.dev/config=bigg: "))
      << wrong.error().ToString();
  EXPECT_EQ(wrong.error().hint(), "did you mean \"big\"?");
  ASSERT_TRUE(base::RemoveTree(folder).ok());
}

}  // namespace
}  // namespace partita::config
