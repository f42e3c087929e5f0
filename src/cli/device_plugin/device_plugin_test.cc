#include "cli/device_plugin/device_plugin.h"

#include <stdlib.h>

#include <filesystem>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::cli {
namespace {

using Set = std::map<std::string, std::string>;

class DevicePlugin : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-dp-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    file_ = directory_ + "/c.yaml";
  }
  void TearDown() override { (void)base::RemoveTree(directory_); }

  static base::Result<DevicePluginOptions> Read(const std::vector<std::string>& words,
                                                const Set& set = {}) {
    const config::Variables variables = [&](const std::string& name) {
      const auto found = set.find(name);
      return found == set.end() ? std::nullopt : std::optional<std::string>(found->second);
    };
    TRY(flags, config::ReadPluginFlags(words, variables));
    return ReadDevicePluginOptions(flags, variables);
  }

  std::string directory_, file_;
};

TEST_F(DevicePlugin, FindsTheDriverWhereItIsMounted) {
  config::PluginConfig config;
  const auto mounted = [](const std::string& at) {
    return [at](const std::string& path) { return path == at; };
  };
  EXPECT_EQ(*PlacesOf(config, mounted("")), (DriverPlaces{"/", "/", ""}));
  EXPECT_EQ(*PlacesOf(config, mounted("/driver-root")),
            (DriverPlaces{"/driver-root", "/driver-root", ""}));
  config.driver_root = "/run/nvidia/driver";
  config.dev_root = "/";
  EXPECT_EQ(*PlacesOf(config, mounted("/run/nvidia/driver")),
            (DriverPlaces{"/", "/run/nvidia/driver", "/"}));
  const auto elsewhere = PlacesOf(config, mounted("/driver-root"));
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_EQ(elsewhere.error().ToString(),
            "the driver's root \"/run/nvidia/driver\" is not mounted in this container");
}

TEST_F(DevicePlugin, WordsForFilesOfCdiAreJudged) {
  const auto options = Read(
      {"--cdi-disable-hooks", "all", "--cdi-feature-flags", "no-additional-gids-for-device-nodes"});
  ASSERT_TRUE(options.ok()) << options.error().ToString();
  EXPECT_FALSE(options->agent.device_plugin->cdi_features.groups);
  EXPECT_EQ(options->agent.device_plugin->cdi_features.disabled_hooks,
            std::set<std::string>{"all"});
  EXPECT_EQ(Read({"--cdi-feature-flags", "x"}).error().ToString(),
            "--cdi-feature-flags: \"x\": not one that is known");
  EXPECT_FALSE(Read({"--cdi-disable-hooks", "x"}).ok());
}

TEST_F(DevicePlugin, StartsWithTheReferencesDefaults) {
  const auto options = Read({});
  ASSERT_TRUE(options.ok()) << options.error().ToString();
  const agent::PluginStart& start = *options->agent.device_plugin;
  EXPECT_EQ(start.config.list_strategies, std::vector{config::ListStrategy::kEnvvar});
  EXPECT_EQ(start.config.cdi_hook_path, "/usr/bin/nvidia-ctk");
  EXPECT_EQ(start.kubelet_socket, "/var/lib/kubelet/device-plugins/kubelet.sock");
  EXPECT_EQ(options->agent.xids, config::XidOverrides{});
  EXPECT_TRUE(options->warnings.empty());
  const auto agent = config::LoadAgentConfig(options->agent.config);
  ASSERT_TRUE(agent.ok()) << agent.error().ToString();
  EXPECT_EQ(agent->health_preset.value, "reference");
  EXPECT_EQ(agent->listen.value, "");
}

TEST_F(DevicePlugin, LaysFlagsAndVariablesOverTheFile) {
  ASSERT_TRUE(base::WriteFile(file_,
                              "flags: {migStrategy: single, gdsEnabled: true}\ncolour: red\n"
                              "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}\n",
                              0644)
                  .ok());
  const auto options =
      Read({"--mig-strategy=mixed", "extra"}, {{"CONFIG_FILE", file_},
                                               {"GDS_ENABLED", ""},
                                               {"DP_DISABLE_HEALTHCHECKS", "all,x"},
                                               {"DP_ENABLE_HEALTHCHECKS", "79"}});
  ASSERT_TRUE(options.ok()) << options.error().ToString();
  const agent::PluginStart& start = *options->agent.device_plugin;
  EXPECT_EQ(start.config.mig_strategy, config::MigStrategy::kMixed);
  EXPECT_FALSE(start.config.gds);
  EXPECT_EQ(start.config.time_slicing->resources.front().replicas, 4U);
  EXPECT_EQ(start.config_file, file_);
  EXPECT_EQ(start.overrides.size(), 2U);
  EXPECT_EQ(options->agent.xids.Fatal(79), true);
  EXPECT_EQ(options->agent.xids.Fatal(48), false);
  ASSERT_EQ(options->warnings.size(), 3U);
  EXPECT_TRUE(options->warnings[0].starts_with(file_ + ":2:1: unknown key \"colour\" is ignored"));
  EXPECT_TRUE(options->warnings[1].starts_with("DP_DISABLE_HEALTHCHECKS: \"x\" is no XID"));
  EXPECT_EQ(options->warnings[2], "ignored: \"extra\"");
}

TEST_F(DevicePlugin, RefusesWhatIsWrongWhereverItIs) {
  EXPECT_EQ(Read({"--config-file", file_}).error().code(), base::ErrorCode::kNotFound);
  ASSERT_TRUE(base::WriteFile(file_, "sharing: {mps: {}}\n", 0644).ok());
  EXPECT_TRUE(Read({"--config-file", file_}).error().ToString().starts_with(file_ + ":1:11: "));
  EXPECT_EQ(Read({}, {{"MIG_STRATEGY", "some"}}).error().ToString(),
            "MIG_STRATEGY: expected none, single or mixed, not \"some\"");
}

TEST_F(DevicePlugin, HasHelpForEveryFlagAndVariable) {
  const std::string help = base::HelpText(MakeDevicePluginProgram(), {});
  for (const char* word :
       {"--mig-strategy", "MIG_STRATEGY", "--nvidia-driver-root", "--nvidia-ctk-path",
        "NVIDIA_CTK_PATH", "--kubelet-socket", "--cdi-disable-hooks", "DP_ENABLE_HEALTHCHECKS"})
    EXPECT_NE(help.find(word), std::string::npos) << word;
  for (const char* shell : {"bash", "zsh", "fish"})
    EXPECT_NE(base::Completion(MakeDevicePluginProgram(), shell).find("mig-strategy"),
              std::string::npos)
        << shell;
}

}  // namespace
}  // namespace partita::cli
