#include "hw/nvml/open_nodes.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::hw::nvml {
namespace {

TEST(OpenNodes, NamesTheNodeThatIsStillOpen) {
  std::string pattern = std::filesystem::temp_directory_path() / "partita-nodes-XXXXXX";
  const std::string directory = mkdtemp(pattern.data());
  std::filesystem::create_symlink("/dev/null", directory + "/0");
  std::filesystem::create_symlink("/dev/nvme0", directory + "/1");
  EXPECT_TRUE(CheckNoOpenNodes(directory).ok());
  std::filesystem::create_symlink("/dev/nvidia3", directory + "/2");
  const base::Result<void> open = CheckNoOpenNodes(directory);
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code(), base::ErrorCode::kBusy);
  EXPECT_EQ(open.error().ToString(), "this process still has /dev/nvidia3 open");
  (void)base::RemoveTree(directory);
}

TEST(OpenNodes, ThisProcessHasNone) { EXPECT_TRUE(CheckNoOpenNodes().ok()); }

}  // namespace
}  // namespace partita::hw::nvml
