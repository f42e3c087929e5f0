#include "agent/config_keeper.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::agent {
namespace {

class ConfigKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-keeper-XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  void TearDown() override { (void)base::RemoveTree(directory_); }
  void Write(const std::string& text) const {
    ASSERT_TRUE(base::WriteFile(directory_ + "/config.yaml", text, 0644).ok());
  }
  [[nodiscard]] ConfigKeeper Keeper() const {
    return ConfigKeeper({directory_ + "/config.yaml", true, {}}, directory_ + "/state");
  }
  std::string directory_;
};

TEST_F(ConfigKeeperTest, AnswersABadFileWithTheLastGoodOne) {
  Write("version: partita/v1\nlisten: \":1\"\n");
  EXPECT_EQ(Keeper().ReadAtStart().rejected, std::nullopt);
  Write("version: partita/v1\nlisten: bad\n");
  const ConfigKeeper::Start start = Keeper().ReadAtStart();
  ASSERT_TRUE(start.rejected.has_value());
  EXPECT_NE(start.rejected->ToString().find("config.yaml:2:9"), std::string::npos);
  EXPECT_TRUE(start.serving);
  EXPECT_EQ(start.config.listen.value, ":1");
  EXPECT_EQ(start.config.listen.origin.where, "last good " + directory_ + "/config.yaml:2:9");
  // Also where the file is gone.
  ASSERT_TRUE(base::RemoveTree(directory_ + "/config.yaml").ok());
  EXPECT_EQ(Keeper().ReadAtStart().config.listen.value, ":1");
}

TEST_F(ConfigKeeperTest, ServesNothingWhereNoGoodOneIsKnown) {
  Write("nonsense");
  const ConfigKeeper::Start start = Keeper().ReadAtStart();
  EXPECT_FALSE(start.serving);
  EXPECT_TRUE(start.rejected.has_value());
  EXPECT_EQ(start.config, *config::DefaultAgentConfig({}));
}

TEST_F(ConfigKeeperTest, KeepsOnlyWhatWasTaken) {
  Write("version: partita/v1\nlisten: \":1\"\n");
  (void)Keeper().ReadAtStart();
  Write("version: partita/v1\nlisten: \":2\"\n");
  const auto read = Keeper().Read();
  ASSERT_TRUE(read.ok());
  Write("bad");
  EXPECT_EQ(Keeper().ReadAtStart().config.listen.value, ":1");
  ASSERT_TRUE(Keeper().Keep(*read).ok());
  EXPECT_EQ(Keeper().ReadAtStart().config.listen.value, ":2");
}

TEST_F(ConfigKeeperTest, TakesTheOneBeforeADamagedOne) {
  for (const char* port : {"1", "2"}) {
    Write("version: partita/v1\nlisten: \":" + std::string(port) + "\"\n");
    (void)Keeper().ReadAtStart();
  }
  Write("bad");
  ASSERT_TRUE(base::WriteFile(directory_ + "/state/last-good/config.yaml", "torn", 0600).ok());
  const ConfigKeeper::Start start = Keeper().ReadAtStart();
  EXPECT_EQ(start.config.listen.value, ":1");
  EXPECT_NE(start.warning, "");
}

TEST_F(ConfigKeeperTest, RunsWhereNothingCanBeKept) {
  Write("version: partita/v1\n");
  ASSERT_TRUE(base::WriteFile(directory_ + "/state", "a file, no directory", 0600).ok());
  const ConfigKeeper::Start start = Keeper().ReadAtStart();
  EXPECT_TRUE(start.serving);
  EXPECT_EQ(start.rejected, std::nullopt);
  EXPECT_NE(start.warning, "");
}

}  // namespace
}  // namespace partita::agent
