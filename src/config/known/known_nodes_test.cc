#include "config/known/known_nodes.h"

#include <gtest/gtest.h>

namespace partita::config {
namespace {

TEST(ReadKnownNode, ReadsEveryMachineOfTheProgram) {
  const std::vector<std::string> names = KnownNodeNames();
  EXPECT_EQ(names, (std::vector<std::string>{"dgx-a100-40", "h200-vm", "hgx-h200", "mixed"}));
  for (const std::string& name : names) {
    const auto known = ReadKnownNode(name);
    ASSERT_TRUE(known.ok()) << known.error().ToString();
    EXPECT_FALSE(known->node.gpus.empty()) << name;
    for (const model::Gpu& gpu : known->node.gpus) {
      EXPECT_TRUE(gpu.index && gpu.memory && gpu.compute_major) << name;
      EXPECT_TRUE(!gpu.mig || !gpu.mig->enabled) << name;
    }
  }
}

TEST(ReadKnownNode, HasAddressesAndTheDriver) {
  const auto known = ReadKnownNode("dgx-a100-40");
  ASSERT_TRUE(known.ok());
  ASSERT_EQ(known->node.gpus.size(), 8U);
  EXPECT_EQ(known->node.driver->version, "580.159.04");
  EXPECT_EQ(known->node.driver->cuda->major, 13);
  EXPECT_EQ(known->node.gpus[4].pci.ToString(), "0000:87:00.0");
  EXPECT_EQ(known->node.gpus[4].numa_node, 1);
  EXPECT_EQ(known->machine, "DGXA100 920-23687-2530-000");
  EXPECT_EQ(known->node.gpus[0].memory->total.value(), 42949672960U);
}

TEST(ReadKnownNode, NamesThoseThatThereAre) {
  const auto known = ReadKnownNode("dgx");
  ASSERT_FALSE(known.ok());
  EXPECT_EQ(known.error().message(), "no machine \"dgx\" is known");
  EXPECT_EQ(known.error().hint(), "known are dgx-a100-40, h200-vm, hgx-h200, mixed");
}

}  // namespace
}  // namespace partita::config
