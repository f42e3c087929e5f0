#include "cli/selector/config_selector.h"

#include <stdlib.h>

#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "cli/selector/config_link.h"

namespace partita::cli {
namespace {

base::Result<SelectorOptions> Options(const std::vector<std::string>& words,
                                      const std::map<std::string, std::string>& variables = {}) {
  TRY(read, ReadSelectorWords(words, [&](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        if (found == variables.end()) return std::nullopt;
        return found->second;
      }));
  return ReadSelectorOptions(read);
}

// As the reference's chart starts it.
const std::map<std::string, std::string> kChart = {
    {"ONESHOT", "true"},
    {"NODE_NAME", "n1"},
    {"NODE_LABEL", "nvidia.com/device-plugin.config"},
    {"CONFIG_FILE_SRCDIR", "/available-configs"},
    {"CONFIG_FILE_DST", "/config/config.yaml"},
    {"DEFAULT_CONFIG", ""},
    {"FALLBACK_STRATEGIES", "named,single"},
    {"SEND_SIGNAL", "false"},
    {"SIGNAL", ""},
    {"PROCESS_TO_SIGNAL", ""}};

TEST(ConfigSelector, TakesWhatTheChartSets) {
  const auto options = Options({}, kChart);
  ASSERT_TRUE(options.ok()) << options.error().ToString();
  EXPECT_TRUE(options->oneshot);
  EXPECT_FALSE(options->send_signal);
  EXPECT_EQ(options->folder, "/available-configs");
  EXPECT_EQ(options->destination, "/config/config.yaml");
  EXPECT_EQ(options->fallback, (std::vector{config::Fallback::kNamed, config::Fallback::kSingle}));
}

TEST(ConfigSelector, AFlagWinsOverAVariable) {
  const auto options = Options(
      {"--oneshot=false", "-node-name", "n2", "--signal=10", "--fallback-strategies", "empty"},
      kChart);
  ASSERT_TRUE(options.ok()) << options.error().ToString();
  EXPECT_FALSE(options->oneshot);
  EXPECT_EQ(options->node_name, "n2");
  EXPECT_EQ(options->signal, 10);
  EXPECT_EQ(options->fallback, (std::vector{config::Fallback::kEmpty}));
}

TEST(ConfigSelector, HasTheReferencesDefaults) {
  const auto options =
      Options({"--node-name=n", "--config-file-srcdir=/a", "--config-file-dst=/b"});
  ASSERT_TRUE(options.ok()) << options.error().ToString();
  EXPECT_FALSE(options->oneshot);
  EXPECT_TRUE(options->send_signal);
  EXPECT_EQ(options->signal, 1);
  EXPECT_EQ(options->process, "nvidia-device-plugin");
  EXPECT_EQ(options->node_label, "nvidia.com/device-plugin.config");
  EXPECT_TRUE(options->fallback.empty());
}

TEST(ConfigSelector, SaysWhatIsMissingOrWrong) {
  EXPECT_EQ(Options({}).error().ToString(), "--node-name (or NODE_NAME) must be given");
  EXPECT_EQ(Options({"--node-name=n"}).error().ToString(),
            "--config-file-srcdir (or CONFIG_FILE_SRCDIR) must be given");
  EXPECT_EQ(Options({"--signal=SIGHUP"}, kChart).error().ToString(),
            "--signal: \"SIGHUP\" is no number of a signal");
  EXPECT_EQ(Options({"--fallback-strategies=first"}, kChart).error().ToString(),
            "--fallback-strategies: \"first\" is no fallback strategy");
  EXPECT_EQ(Options({"--oneshot=maybe"}, kChart).error().ToString().find("--oneshot: "), 0U);
}

TEST(ConfigLink, IsTurnedFromOneToTheNext) {
  std::string pattern = std::filesystem::temp_directory_path() / "partita-link-XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  const std::string link = folder + "/config.yaml";
  for (const char* name : {"/a", "/b"})
    ASSERT_TRUE(base::WriteFile(folder + name, name, 0644).ok());
  EXPECT_TRUE(*PointLink(link, folder + "/a"));
  EXPECT_EQ(*base::ReadFile(link), "/a");
  EXPECT_FALSE(*PointLink(link, folder + "/a"));
  EXPECT_TRUE(*PointLink(link, folder + "/b"));
  EXPECT_EQ(*base::ReadLink(link), folder + "/b");
  EXPECT_TRUE(*PointLink(link, "/dev/null"));
  EXPECT_EQ(*base::ReadFile(link), "");
  EXPECT_EQ(base::ListDirectory(folder)->size(), 3U) << "nothing is left beside it";
  // A file that an image brought is no obstacle, a directory is.
  ASSERT_TRUE(base::WriteFile(folder + "/file", "old", 0644).ok());
  EXPECT_TRUE(*PointLink(folder + "/file", folder + "/a"));
  std::filesystem::create_directory(folder + "/directory");
  EXPECT_EQ(PointLink(folder + "/directory", folder + "/a").error().ToString(),
            folder + "/directory is a directory");
  ASSERT_TRUE(base::RemoveTree(folder).ok());
}

}  // namespace
}  // namespace partita::cli
