#include "config/discovery_flags.h"

#include <map>

#include <gtest/gtest.h>

namespace partita::config {
namespace {

using Environment = std::map<std::string, std::string>;

base::Result<DiscoveryFlags> Read(std::vector<std::string> words, const Environment& set = {}) {
  return ReadDiscoveryFlags(words, [&](const std::string& name) {
    const auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional(found->second);
  });
}

PluginConfig Parsed(const std::string& text,
                    const std::vector<std::string>& words,
                    const Environment& set = {}) {
  const auto flags = Read(words, set);
  EXPECT_TRUE(flags.ok()) << flags.error().ToString();
  const auto parsed = ParsePluginConfig(text, "c.yaml", PluginDefaults::kFeatureDiscovery, false,
                                        false, flags->overrides);
  EXPECT_TRUE(parsed.ok()) << parsed.error().ToString();
  EXPECT_TRUE(parsed->warnings.empty());
  return parsed->config;
}

TEST(DiscoveryFlags, HaveTheReferencesDefaults) {
  const DiscoverySettings settings = Parsed("", {}).feature_discovery;
  EXPECT_EQ(settings, (DiscoverySettings{
                          .use_node_feature_api = std::nullopt,
                          .oneshot = false,
                          .no_timestamp = false,
                          .sleep_interval = std::chrono::seconds(60),
                          .output_file = "/etc/kubernetes/node-feature-discovery/features.d/gfd",
                          .machine_type_file = "/sys/class/dmi/id/product_name"}));
  const auto flags = Read({});
  EXPECT_EQ(flags->name_space, "default");
  EXPECT_EQ(flags->config_file + flags->kubeconfig + flags->node_name + flags->pod_name, "");
}

TEST(DiscoveryFlags, WinOverVariablesAndThoseOverTheFile) {
  const std::string file =
      "flags: {migStrategy: single, useNodeFeatureAPI: true, failOnInitError: false,\n"
      "  gfd: {oneshot: true, noTimestamp: true, sleepInterval: infinite, outputFile: a}}\n";
  const PluginConfig config =
      Parsed(file, {"-o", "b", "--use-node-feature-api=false", "--sleep-interval", "1m30s"},
             {{"GFD_OUTPUT_FILE", "c"},
              {"GFD_NO_TIMESTAMP", ""},
              {"MIG_STRATEGY", "none"},
              {"GFD_MIG_STRATEGY", "mixed"},
              {"GFD_MACHINE_TYPE_FILE", ""}});
  EXPECT_EQ(config.mig_strategy, MigStrategy::kMixed);
  EXPECT_FALSE(config.fail_on_init_error);
  EXPECT_EQ(config.feature_discovery, (DiscoverySettings{.use_node_feature_api = false,
                                                         .oneshot = true,
                                                         .no_timestamp = false,
                                                         .sleep_interval = std::chrono::seconds(90),
                                                         .output_file = "b",
                                                         .machine_type_file = ""}));
}

TEST(DiscoveryFlags, InfiniteIsNoTimeAtAll) {
  EXPECT_EQ(Parsed("", {"--sleep-interval=infinite"}).feature_discovery.sleep_interval,
            std::nullopt);
}

TEST(DiscoveryFlags, KeepABadMigStrategyForLater) {
  const auto flags = Read({"--mig-strategy", "bogus"});
  ASSERT_TRUE(flags.ok());
  EXPECT_TRUE(flags->overrides.empty());
  ASSERT_TRUE(flags->bad_mig_strategy);
  EXPECT_EQ(flags->bad_mig_strategy->ToString(),
            "--mig-strategy: expected none, single or mixed, not \"bogus\"");
}

TEST(DiscoveryFlags, RefuseWhatTheyDoNotKnow) {
  EXPECT_EQ(Read({"--kubelet-socket", "x"}).error().ToString(),
            "flag provided but not defined: -kubelet-socket");
  EXPECT_EQ(Read({"--oneshoot"}).error().hint(), "did you mean --oneshot?");
  const auto flags = Read({"--sleep-interval", "5"});
  ASSERT_TRUE(flags.ok());
  EXPECT_EQ(ParsePluginConfig("", "c.yaml", PluginDefaults::kFeatureDiscovery, false, false,
                              flags->overrides)
                .error()
                .ToString(),
            "--sleep-interval: expected a duration, not \"5\"");
}

}  // namespace
}  // namespace partita::config
