#include "agent/mps/control_program.h"

#include <stdlib.h>

#include <array>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::agent::mps {
namespace {

TEST(FindControlProgram, IsLookedForBelowTheDriversRoot) {
  std::array<char, 32> directory = {"/tmp/partita-mps.XXXXXX"};
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string root = directory.data();
  const base::Result<std::string> none = FindControlProgram(root);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().ToString(), "the driver in " + root + " has no nvidia-cuda-mps-control");
  ASSERT_TRUE(base::MakeDirectories(root + "/usr/bin", 0755).ok());
  ASSERT_TRUE(base::WriteFile(root + "/usr/bin/nvidia-cuda-mps-control", "", 0755).ok());
  EXPECT_EQ(FindControlProgram(root).value(), root + "/usr/bin/nvidia-cuda-mps-control");
  EXPECT_TRUE(base::RemoveTree(root).ok());
}

}  // namespace
}  // namespace partita::agent::mps
