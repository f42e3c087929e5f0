#include "hw/node_facts.h"

#include <gtest/gtest.h>

#include "hw/testing/tree.h"

namespace partita::hw {
namespace {

TEST(ReadNodeFacts, LeavesAbsentWhatIsNotThere) {
  const testing::Tree tree;
  EXPECT_EQ(ReadNodeFacts(tree.root()), model::NodeFacts());
}

TEST(ReadNodeFacts, ReadsTheMachineAndTheBus) {
  const testing::Tree tree;
  tree.File("sys/class/dmi/id/product_name", "Rack One\n");
  tree.PciDevice("pci0000:00/0000:00:03.0", "0x10de", "0x030200", "vfio-pci");
  tree.File("sys/devices/pci0000:00/0000:00:03.0/config", std::string(256, '\0'));
  EXPECT_EQ(
      ReadNodeFacts(tree.root()),
      (model::NodeFacts{.machine = "Rack One\n", .gpus_on_bus = 1, .vgpu = model::VgpuFacts()}));
}

}  // namespace
}  // namespace partita::hw
