#include "service/cdi/driver_root.h"

#include <gtest/gtest.h>

#include "service/cdi/testing/driver_tree.h"

namespace partita::service::cdi {
namespace {

using Paths = std::vector<std::string>;
using testing::DriverTree;

TEST(MatchesPattern, KnowsStarsAndQuestionMarks) {
  EXPECT_TRUE(MatchesPattern("libcuda.so.550.90.07", "libcuda.so.*.*"));
  EXPECT_FALSE(MatchesPattern("libcuda.so.1", "libcuda.so.*.*"));
  EXPECT_TRUE(MatchesPattern("lib.so", "lib*.so"));
  EXPECT_FALSE(MatchesPattern("lib.so", "lib?*.so"));
  EXPECT_TRUE(MatchesPattern("aXbXc", "a*X?"));
  EXPECT_TRUE(MatchesPattern("", "*"));
  EXPECT_FALSE(MatchesPattern("", "?"));
}

TEST(FindLibraries, TakesAFileOnceWhateverLeadsToIt) {
  const DriverTree tree;
  tree.Library("/usr/lib/x86_64-linux-gnu/libcuda.so.550.1", "libcuda.so.1");
  tree.Link("/lib", "usr/lib");
  tree.Link("/usr/lib64", "lib/x86_64-linux-gnu");
  EXPECT_EQ(FindLibraries(tree.Open(), {}, "libcuda.so.*.*"),
            Paths{"/usr/lib/x86_64-linux-gnu/libcuda.so.550.1"});
}

TEST(FindLibraries, AsksTheCacheOnlyWhereTheFoldersHaveNone) {
  const DriverTree tree;
  tree.Library("/opt/libcuda.so.535.1", "libcuda.so.1", {"libcuda.so.1"});
  tree.Library("/opt/libnvidia-ml.so.535.1", "libnvidia-ml.so.1", {"libnvidia-ml.so.1"});
  tree.Library("/usr/lib64/libcuda.so.550.1", "libcuda.so.1");
  tree.File("/etc/ld.so.cache",
            testing::LdCache({{"libcuda.so.1", "/opt/libcuda.so.1", true},
                              {"libnvidia-ml.so.1", "/opt/libnvidia-ml.so.1", true},
                              {"libnvidia-ml.so.1", "/opt/libcuda.so.1", false}}));
  const DriverRoot driver = tree.Open();
  EXPECT_EQ(FindLibraries(driver, {}, "libcuda.so.*.*"), Paths{"/usr/lib64/libcuda.so.550.1"});
  EXPECT_EQ(FindLibraries(driver, {}, "libnvidia-ml.so.*.*"), Paths{"/opt/libnvidia-ml.so.535.1"});
  EXPECT_EQ(FindLibraries(driver, {}, "libnvidia-cfg.so.*"), Paths());
}

TEST(FindLibraries, LooksOnlyWhereItIsTold) {
  const DriverTree tree;
  tree.Library("/opt/libcuda.so.535.1", "libcuda.so.1");
  tree.Library("/usr/lib64/libcuda.so.550.1", "libcuda.so.1");
  Search search;
  search.library_paths = {"/opt"};
  EXPECT_EQ(FindLibraries(tree.Open(), search, "libcuda.so.*.*"), Paths{"/opt/libcuda.so.535.1"});
}

// A driver container has absolute links; on the host they would lead to something of the host's.
TEST(DriverRoot, AbsoluteLinksStayInTheRoot) {
  const DriverTree tree;
  tree.Library("/opt/libcuda.so.550.1", "libcuda.so.1");
  tree.Link("/usr/lib64/libcuda.so.550.1", "/opt/libcuda.so.550.1");
  tree.Link("/usr/lib64/libcuda.so.550.2", "/../../../../../../etc/passwd");
  const DriverRoot driver = tree.Open("/run/nvidia/driver/");
  EXPECT_EQ(FindLibraries(driver, {}, "libcuda.so.*.*"), Paths{"/opt/libcuda.so.550.1"});
  EXPECT_EQ(driver.MountSource("/usr/lib64/libcuda.so.550.1"),
            "/run/nvidia/driver/opt/libcuda.so.550.1");
  EXPECT_EQ(tree.Open().MountSource("/usr/lib64/libcuda.so.550.1"), "/usr/lib64/libcuda.so.550.1");
}

TEST(DriverRoot, KnowsWhichPathsAreInside) {
  const DriverTree tree;
  const DriverRoot driver = tree.Open("/run/nvidia/driver");
  EXPECT_EQ(*driver.Inside("/run/nvidia/driver/usr/lib"), "/usr/lib");
  EXPECT_EQ(*driver.Inside("/run/nvidia/driver"), "/");
  EXPECT_EQ(driver.Inside("/run/nvidia/driver-old/usr").error().ToString(),
            "/run/nvidia/driver-old/usr is not below the driver root /run/nvidia/driver");
  EXPECT_EQ(driver.Inside("usr").error().ToString(), "\"usr\": not an absolute path");
  EXPECT_EQ(*tree.Open().Inside("/usr"), "/usr");
}

TEST(FindExecutable, GoesThroughPathThenTheUsualFolders) {
  const DriverTree tree;
  tree.Program("/usr/bin/nvidia-smi");
  tree.File("/usr/local/bin/nvidia-smi", "not executable");
  tree.Folder("/usr/local/sbin/nvidia-smi");
  const DriverRoot driver = tree.Open();
  EXPECT_EQ(FindExecutable(driver, {}, "nvidia-smi"), "/usr/bin/nvidia-smi");
  tree.Program("/opt/bin/nvidia-smi");
  Search search;
  search.path = {"/opt/bin"};
  EXPECT_EQ(FindExecutable(driver, search, "nvidia-smi"), "/opt/bin/nvidia-smi");
  EXPECT_EQ(FindExecutable(driver, {}, "nvidia-imex"), std::nullopt);
}

TEST(FindConfig, TakesTheFirstFolderThatHasIt) {
  const DriverTree tree;
  tree.File("/usr/share/a/x.json");
  const DriverRoot driver = tree.Open();
  EXPECT_EQ(FindConfig(driver, {}, "a/x.json"), "/usr/share/a/x.json");
  tree.File("/etc/a/x.json");
  EXPECT_EQ(FindConfig(driver, {}, "a/x.json"), "/etc/a/x.json");
  Search search;
  search.xdg_data_dirs = {"/opt/share"};
  tree.File("/opt/share/b.json");
  EXPECT_EQ(FindConfig(driver, search, "b.json"), "/opt/share/b.json");
  search.config_paths = {"/usr/share"};
  EXPECT_EQ(FindConfig(driver, search, "a/x.json"), "/usr/share/a/x.json");
}

}  // namespace
}  // namespace partita::service::cdi
