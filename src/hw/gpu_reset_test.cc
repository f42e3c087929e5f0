#include "hw/gpu_reset.h"

#include <sys/stat.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::hw {
namespace {

using std::chrono::milliseconds;

// A driver root whose nvidia-smi is a script.
class ResetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-reset-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  void TearDown() override { (void)base::RemoveTree(root_); }

  [[nodiscard]] std::string Tool() const { return root_ + "/usr/bin/nvidia-smi"; }
  void Install(const std::string& script) {
    ASSERT_TRUE(base::MakeDirectories(root_ + "/usr/bin", 0755).ok());
    ASSERT_TRUE(base::WriteFile(Tool(), "#!/bin/sh\n" + script, 0755).ok());
    ASSERT_EQ(chmod(Tool().c_str(), 0755), 0);
  }
  [[nodiscard]] base::Result<void> Reset(milliseconds limit = milliseconds(60'000)) const {
    return ResetGpus({{0, 7, 0, 0}, {0, 0xB7, 0, 0}},
                     {.driver_root = root_, .library = "", .limit = limit});
  }

  std::string root_;
};

TEST_F(ResetTest, NamesTheGpusByAddressAndNoOthers) {
  Install("echo \"$@\" > " + root_ + "/said\n");
  const base::Result<void> result = Reset();
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  const base::Result<std::string> said = base::ReadFile(root_ + "/said");
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(*said, "-r -i 00000000:07:00.0,00000000:B7:00.0\n");
}

// A driver root is a whole system: its libc must not become the tool's.
TEST_F(ResetTest, LoadsTheDriversLibraryAndNothingElseFromItsRoot) {
  ASSERT_TRUE(base::MakeDirectories(root_ + "/usr/lib64", 0755).ok());
  const std::string library = root_ + "/usr/lib64/libnvidia-ml.so.1";
  ASSERT_TRUE(base::WriteFile(library, "", 0644).ok());
  Install("env 2>/dev/null | grep ^LD_ > " + root_ + "/said\n");
  ASSERT_TRUE(Reset().ok());
  const base::Result<std::string> said = base::ReadFile(root_ + "/said");
  ASSERT_TRUE(said.ok());
  EXPECT_NE(said->find("LD_PRELOAD=" + library + "\n"), std::string::npos) << *said;
  EXPECT_EQ(said->find("LD_LIBRARY_PATH=" + root_), std::string::npos) << *said;
}

TEST_F(ResetTest, PassesOnWhatTheToolSaid) {
  Install("echo 'GPU 00000000:07:00.0 is in use by another client.'; exit 255\n");
  const base::Result<void> result = Reset();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().ToString(),
            Tool() +
                " -r -i 00000000:07:00.0,00000000:B7:00.0 ended with status 255: "
                "GPU 00000000:07:00.0 is in use by another client.");
  EXPECT_EQ(result.error().hint(),
            "stop what uses the GPU, then try again; where a reset is not possible, reboot");
}

TEST_F(ResetTest, GivesUpOnAToolThatHangs) {
  Install("sleep 1000\n");
  const base::Result<void> result = Reset(milliseconds(100));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), base::ErrorCode::kTimeout);
  EXPECT_EQ(result.error().message(),
            Tool() +
                " -r -i 00000000:07:00.0,00000000:B7:00.0 took longer than 0.1 s and was "
                "killed: it said nothing");
}

TEST_F(ResetTest, NamesEveryPlaceItLookedFor) {
  const base::Result<void> result = Reset();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), base::ErrorCode::kNotFound);
  EXPECT_EQ(result.error().ToString(),
            "a GPU reset needs nvidia-smi, and none of these is there: " + root_ +
                "/usr/bin/nvidia-smi, " + root_ + "/usr/sbin/nvidia-smi, " + root_ +
                "/bin/nvidia-smi, " + root_ + "/opt/bin/nvidia-smi");
}

// Whoever can write where we happen to be would be root.
TEST_F(ResetTest, TakesNoToolFromAFolderBelowTheCurrentOne) {
  Install("exit 0\n");
  const std::string path = getenv("PATH");
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(root_);
  setenv("PATH", "usr/bin:", 1);
  const base::Result<std::string> tool = FindNvidiaSmi("/");
  setenv("PATH", path.c_str(), 1);
  std::filesystem::current_path(here);
  EXPECT_TRUE(!tool.ok() || tool->starts_with('/')) << *tool;
}

}  // namespace
}  // namespace partita::hw
