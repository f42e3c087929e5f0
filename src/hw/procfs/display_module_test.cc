#include "hw/procfs/display_module.h"

#include <gtest/gtest.h>

#include "hw/testing/tree.h"

namespace partita::hw::procfs {
namespace {

const char kModeset[] = "sys/module/nvidia_drm/parameters/modeset";

TEST(DisplayModule, HoldsGpusWhereItSetsModes) {
  const testing::Tree tree;
  EXPECT_FALSE(DisplayModuleHoldsGpus(tree.root())) << "it is not loaded";
  tree.File(kModeset, "N\n");
  EXPECT_FALSE(DisplayModuleHoldsGpus(tree.root()));
  tree.File(kModeset, "Y\n");
  EXPECT_TRUE(DisplayModuleHoldsGpus(tree.root()));
}

}  // namespace
}  // namespace partita::hw::procfs
