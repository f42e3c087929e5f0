#include "hw/sysfs/config_space.h"

#include <gtest/gtest.h>

#include "hw/testing/tree.h"

namespace partita::hw::sysfs {
namespace {

TEST(ConfigWord, IsWhatTheHardwareAnswers) {
  const testing::Tree tree;
  const model::PciAddress pci{.domain = 0, .bus = 7, .device = 0, .function = 0};
  EXPECT_EQ(ConfigWord(tree.root(), pci), std::nullopt);
  const std::string device = "pci0000:00/0000:07:00.0";
  tree.PciDevice(device, "0x10de", "0x030200", "nvidia");
  EXPECT_EQ(ConfigWord(tree.root(), pci), std::nullopt);
  tree.File("sys/devices/" + device + "/config", "\xDE\x10\xB0\x20\x06");
  EXPECT_EQ(ConfigWord(tree.root(), pci), 0x20B010DEU);
  tree.File("sys/devices/" + device + "/config", "\xFF\xFF\xFF\xFF");
  EXPECT_EQ(ConfigWord(tree.root(), pci), 0xFFFFFFFFU);
}

}  // namespace
}  // namespace partita::hw::sysfs
