#include "hw/watch/paths.h"

#include <sys/stat.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "base/files.h"
#include "hw/testing/tree.h"

namespace partita::hw::watch {
namespace {

using Changed = std::set<std::string>;

class PathsTest : public ::testing::Test {
 protected:
  PathsTest() : paths_(*Paths::Open()) {}
  [[nodiscard]] std::string At(const std::string& path) const { return tree_.root() + "/" + path; }

  testing::Tree tree_;
  Paths paths_;
};

TEST_F(PathsTest, TellsOfWhatComesGoesAndChangesItsRights) {
  tree_.File("dev/nvidia0", "");
  ASSERT_TRUE(paths_.Watch(At("dev")).ok());
  EXPECT_EQ(paths_.Read(), Changed{});

  tree_.File("dev/nvidia1", "");
  EXPECT_EQ(paths_.Read(), Changed{At("dev")});
  EXPECT_EQ(paths_.Read(), Changed{});
  std::filesystem::remove(At("dev/nvidia1"));
  EXPECT_EQ(paths_.Read(), Changed{At("dev")});
  chmod(At("dev/nvidia0").c_str(), 0600);
  EXPECT_EQ(paths_.Read(), Changed{At("dev")});
}

TEST_F(PathsTest, TellsOfContentsWhereTheyCount) {
  tree_.File("etc/config.yaml", "a");
  Paths contents = *Paths::Open(Paths::Of::kNamesAndContents);
  ASSERT_TRUE(contents.Watch(At("etc")).ok());
  ASSERT_TRUE(paths_.Watch(At("etc")).ok());
  ASSERT_TRUE(base::WriteFile(At("etc/config.yaml"), "b", 0644).ok());
  EXPECT_EQ(contents.Read(), Changed{At("etc")});
  EXPECT_EQ(paths_.Read(), Changed{}) << "whoever writes to a device node changes no node";
}

TEST_F(PathsTest, WaitsForADirectoryThatIsNotThereYet) {
  ASSERT_TRUE(paths_.Watch(At("proc/capabilities/gpu0")).ok());
  tree_.File("other/file", "");
  EXPECT_EQ(paths_.Read(), Changed{});

  tree_.File("proc/capabilities/gpu0/mig", "");
  EXPECT_EQ(paths_.Read(), Changed{At("proc/capabilities/gpu0")});
  tree_.File("proc/capabilities/gpu0/gi1", "");
  EXPECT_EQ(paths_.Read(), Changed{At("proc/capabilities/gpu0")});
}

TEST_F(PathsTest, WaitsForADirectoryInWhosePlaceIsAFile) {
  tree_.File("dev", "");
  ASSERT_TRUE(paths_.Watch(At("dev")).ok());
  std::filesystem::remove(At("dev"));
  tree_.File("dev/nvidia0", "");
  EXPECT_EQ(paths_.Read(), Changed{At("dev")});
}

TEST_F(PathsTest, FollowsADirectoryThatIsMadeAnew) {
  tree_.File("caps/cap1", "");
  ASSERT_TRUE(paths_.Watch(At("caps")).ok());
  std::filesystem::remove_all(At("caps"));
  EXPECT_EQ(paths_.Read(), Changed{At("caps")});
  tree_.File("caps/cap2", "");
  EXPECT_EQ(paths_.Read(), Changed{At("caps")});
  tree_.File("caps/cap3", "");
  EXPECT_EQ(paths_.Read(), Changed{At("caps")});
}

TEST_F(PathsTest, TwoBelowOneThatIsMissingAreToldApart) {
  ASSERT_TRUE(paths_.Watch(At("a")).ok());
  ASSERT_TRUE(paths_.Watch(At("b")).ok());
  tree_.File("a/x", "");
  EXPECT_EQ(paths_.Read(), Changed{At("a")});
  tree_.File("b/x", "");
  EXPECT_EQ(paths_.Read(), Changed{At("b")});
}

}  // namespace
}  // namespace partita::hw::watch
