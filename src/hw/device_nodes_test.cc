#include "hw/device_nodes.h"

#include <gtest/gtest.h>

#include "hw/testing/tree.h"

namespace partita::hw {
namespace {

TEST(ListDeviceNodes, TakesNothingButCharacterDevices) {
  const testing::Tree tree;
  tree.File("dev/nvidia0", "");
  tree.Link("dev/nvidiactl", "/dev/null");
  tree.File("dev/nvidia-caps/nvidia-cap1", "");
  EXPECT_TRUE(ListDeviceNodes(tree.root()).empty());
  EXPECT_TRUE(ListDeviceNodes(tree.root() + "/nowhere").empty());
}

TEST(CheckMajors, NamesNodesOfAnotherLoadOfTheDriver) {
  const std::vector<model::DeviceNode> nodes = {
      {.path = "/dev/nvidia-caps/nvidia-cap1", .major = 241, .minor = 1, .mode = 0400},
      {.path = "/dev/nvidia-uvm", .major = 511, .minor = 0, .mode = 0666},
      {.path = "/dev/nvidia0", .major = 195, .minor = 0, .mode = 0666},
      {.path = "/dev/nvidiactl", .major = 195, .minor = 255, .mode = 0666},
  };
  const procfs::Majors majors = {
      {"nvidia", 195}, {"nvidiactl", 195}, {"nvidia-uvm", 238}, {"nvidia-caps", 241}};
  const std::vector<model::Problem> problems = CheckMajors(nodes, majors);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].error.ToString(),
            "/dev/nvidia-uvm has major 511, but the driver registered 238");
}

TEST(CheckMajors, AcceptsTheOldNameOfTheFirstMajor) {
  const std::vector<model::DeviceNode> nodes = {
      {.path = "/dev/nvidia0", .major = 195, .minor = 0, .mode = 0666}};
  EXPECT_TRUE(CheckMajors(nodes, {{"nvidia-frontend", 195}}).empty());
  EXPECT_TRUE(CheckMajors(nodes, {}).empty()) << "nothing is registered, nothing is known";
}

}  // namespace
}  // namespace partita::hw
