#include "service/cdi/node_files.h"

#include <gtest/gtest.h>

#include "service/cdi/testing/driver_tree.h"
#include "service/cdi/testing/sample_node.h"

namespace partita::service::cdi {
namespace {

using testing::DriverTree;

TEST(NodeFiles, OfAHostThatIsMountedSomewhere) {
  const DriverTree tree;
  testing::MakeSmallDriver(tree);
  NodeFilesOptions options;
  options.host_root = tree.root() + "/";
  const auto files = ReadNodeFiles(options, testing::SampleNode());
  ASSERT_TRUE(files.ok()) << files.error().ToString();
  EXPECT_EQ(files->places.driver_root, "/");
  EXPECT_EQ(files->places.dev_root, "/");
  EXPECT_EQ(files->driver.driver[0].host_path, "/usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07");
}

TEST(NodeFiles, OfADriverContainerOnIt) {
  const DriverTree tree;
  tree.Library("/run/nvidia/driver/usr/lib64/libcuda.so.550.90.07", "libcuda.so.1");
  tree.Library("/run/nvidia/driver/opt/libnvidia-ml.so.550.90.07", "libnvidia-ml.so.1");
  NodeFilesOptions options;
  options.host_root = tree.root();
  options.driver_root = tree.root() + "/run/nvidia/driver";
  options.dev_root = "/";
  auto files = ReadNodeFiles(options, testing::SampleNode());
  ASSERT_TRUE(files.ok()) << files.error().ToString();
  EXPECT_EQ(files->places.driver_root, "/run/nvidia/driver");
  EXPECT_EQ(files->places.dev_root, "/");
  EXPECT_EQ(files->driver.driver[0].host_path, "/run/nvidia/driver/usr/lib64/libcuda.so.550.90.07");
  options.library_paths = {options.driver_root + "/opt"};
  files = ReadNodeFiles(options, testing::SampleNode());
  ASSERT_TRUE(files.ok()) << files.error().ToString();
  EXPECT_EQ(files->driver.library_directories, std::vector<std::string>{"/opt"});
  options.library_paths = {"/opt"};
  EXPECT_EQ(ReadNodeFiles(options, testing::SampleNode()).error().ToString(),
            "/opt is not below the driver root /run/nvidia/driver");
}

TEST(NodeFiles, WithoutARootSaysSo) {
  NodeFilesOptions options;
  options.driver_root = "/nonexistent";
  const auto files = ReadNodeFiles(options, testing::SampleNode());
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().code(), base::ErrorCode::kNotFound);
}

}  // namespace
}  // namespace partita::service::cdi
