#include "config/plugin_flags.h"

#include <map>

#include <gtest/gtest.h>

#include "config/plugin_config_options.h"

namespace partita::config {
namespace {

using Words = std::vector<std::string>;
using Set = std::map<std::string, std::string>;

base::Result<PluginFlags> ReadFlags(const Words& words, const Set& set = {}) {
  return ReadPluginFlags(words, [&](const std::string& name) {
    const auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional<std::string>(found->second);
  });
}

using Overrides = std::vector<PluginOverride>;

TEST(PluginFlags, AreDefaultsWhereNothingIsSaid) {
  const auto flags = ReadFlags({});
  ASSERT_TRUE(flags.ok());
  EXPECT_TRUE(flags->overrides.empty());
  EXPECT_EQ(flags->config_file, "");
  EXPECT_EQ(flags->kubelet_socket, "/var/lib/kubelet/device-plugins/kubelet.sock");
}

TEST(PluginFlags, TakeEveryFormOfAFlag) {
  for (const Words& words : {Words{"--mig-strategy", "single"}, Words{"-mig-strategy=single"},
                             Words{"--mig-strategy=mixed", "--mig-strategy=single"}}) {
    const auto flags = ReadFlags(words);
    ASSERT_TRUE(flags.ok()) << flags.error().ToString();
    EXPECT_EQ(flags->overrides, (Overrides{{"flags.migStrategy", "single", "--mig-strategy"}}));
  }
  EXPECT_EQ(ReadFlags({"--gds-enabled", "--mofed-enabled=false"})->overrides,
            (Overrides{{"flags.gdsEnabled", "true", "--gds-enabled"},
                       {"flags.mofedEnabled", "false", "--mofed-enabled"}}));
  EXPECT_EQ(
      ReadFlags({"--device-list-strategy=envvar,cdi-cri", "--device-list-strategy", "cdi-cri"})
          ->overrides,
      (Overrides{{"flags.plugin.deviceListStrategy", "envvar,cdi-cri,cdi-cri",
                  "--device-list-strategy"}}));
}

// Every name of every option says the same key.
TEST(PluginFlags, KnowEveryAliasAndVariable) {
  for (const PluginOption& option : PluginOptions()) {
    if (option.key.empty()) continue;
    for (const std::string& flag : option.flags) {
      const auto flags = ReadFlags({"--" + flag + "=x"});
      ASSERT_TRUE(flags.ok()) << flags.error().ToString();
      EXPECT_EQ(flags->overrides, (Overrides{{option.key, "x", "--" + flag}}));
    }
    for (const std::string& name : option.variables) {
      EXPECT_EQ(ReadFlags({}, {{name, "x"}})->overrides, (Overrides{{option.key, "x", name}}));
    }
  }
}

TEST(PluginFlags, LetAFlagWinOverAVariableAndTheFirstVariableOverTheNext) {
  const Set set = {
      {"MIG_STRATEGY", "mixed"}, {"NVIDIA_CTK_PATH", "/old"}, {"NVIDIA_CDI_HOOK_PATH", "/new"}};
  EXPECT_EQ(ReadFlags({"--mig-strategy=none"}, set)->overrides,
            (Overrides{{"flags.migStrategy", "none", "--mig-strategy"},
                       {"flags.plugin.nvidiaCTKPath", "/new", "NVIDIA_CDI_HOOK_PATH"}}));
}

TEST(PluginFlags, TakeAnEmptyVariableOfASwitchForFalse) {
  const auto flags = ReadFlags({}, {{"FAIL_ON_INIT_ERROR", ""}});
  EXPECT_EQ(flags->overrides,
            (Overrides{{"flags.failOnInitError", "false", "FAIL_ON_INIT_ERROR"}}));
  const auto parsed = ParsePluginConfig("flags: {failOnInitError: true}", "c.yaml",
                                        PluginDefaults::kReference, false, false, flags->overrides);
  EXPECT_FALSE(parsed->config.fail_on_init_error);
  EXPECT_EQ(parsed->given.at("flags.failOnInitError"), "FAIL_ON_INIT_ERROR");
}

TEST(PluginFlags, HaveSomeThatNoDocumentHas) {
  const auto flags = ReadFlags({"--config-file=/c.yaml", "--kubelet-socket="},
                               {{"CDI_DISABLE_HOOKS", "all"}, {"CDI_FEATURE_FLAGS", "a, b"}});
  ASSERT_TRUE(flags.ok()) << flags.error().ToString();
  EXPECT_EQ(flags->config_file, "/c.yaml");
  EXPECT_EQ(flags->kubelet_socket, "");
  EXPECT_EQ(flags->cdi_disable_hooks, Words{"all"});
  EXPECT_EQ(flags->cdi_feature_flags, (Words{"a", "b"}));
  EXPECT_EQ(ReadFlags({"--kubelet-socket=run"}).error().ToString(),
            "--kubelet-socket: \"run\" is no absolute path");
}

TEST(PluginFlags, RefuseWhatTheReferenceDoesNotKnow) {
  EXPECT_EQ(ReadFlags({"--mig-stratgy=x"}).error().ToString(),
            "flag provided but not defined: -mig-stratgy");
  EXPECT_EQ(ReadFlags({"--mig-stratgy=x"}).error().hint(), "did you mean --mig-strategy?");
  EXPECT_EQ(ReadFlags({"--config-file"}).error().ToString(),
            "flag needs an argument: -config-file");
}

TEST(PluginFlags, PassOverWordsThatAreNoFlags) {
  EXPECT_EQ(ReadFlags({"serve", "--mig-strategy=x"})->ignored,
            (Words{"serve", "--mig-strategy=x"}));
  EXPECT_TRUE(ReadFlags({"serve", "--mig-strategy=x"})->overrides.empty());
  EXPECT_EQ(ReadFlags({"--", "--help"})->ignored, Words{"--help"});
  EXPECT_TRUE(ReadFlags({"--help"})->help);
  EXPECT_TRUE(ReadFlags({"help"})->help);
  EXPECT_TRUE(ReadFlags({"-v"})->version);
}

}  // namespace
}  // namespace partita::config
