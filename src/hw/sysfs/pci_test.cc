#include "hw/sysfs/pci.h"

#include <gtest/gtest.h>

#include "hw/testing/tree.h"

namespace partita::hw::sysfs {
namespace {

std::vector<PciGpu> Scan(const testing::Tree& tree) {
  base::Result<std::vector<PciGpu>> gpus = ScanPciGpus(tree.root());
  EXPECT_TRUE(gpus.ok()) << gpus.error().ToString();
  return gpus.ok() ? *gpus : std::vector<PciGpu>{};
}

TEST(ScanPciGpus, ReadsEverythingAboutAGpuBehindBridges) {
  const testing::Tree tree;
  const std::string device = "pci0000:00/0000:00:01.0/0000:04:00.0/0000:05:08.0/0000:07:00.0";
  tree.PciDevice(device, "0x10de", "0x030200", "nvidia");
  tree.File("sys/devices/" + device + "/numa_node", "3\n");
  tree.File("sys/devices/" + device + "/irq", "41\n");
  tree.Link("sys/devices/" + device + "/iommu_group", "../../../../kernel/iommu_groups/27");

  const std::vector<PciGpu> gpus = Scan(tree);
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0], (PciGpu{.pci = {.domain = 0, .bus = 7, .device = 0, .function = 0},
                             .device_id = 0x233510DE,
                             .subsystem_id = 0x18BF10DE,
                             .pci_class = 0x030200,
                             .driver = "nvidia",
                             .numa_node = 3,
                             .iommu_group = 27,
                             .irq = 41,
                             .path = {{.domain = 0, .bus = 0, .device = 1, .function = 0},
                                      {.domain = 0, .bus = 4, .device = 0, .function = 0},
                                      {.domain = 0, .bus = 5, .device = 8, .function = 0}}}));
}

TEST(ScanPciGpus, LeavesAbsentWhatThePlatformDoesNotSay) {
  const testing::Tree tree;
  tree.PciDevice("pci0000:00/0000:00:06.0", "0x10de", "0x030000", "");
  const std::vector<PciGpu> gpus = Scan(tree);
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].driver, "");
  EXPECT_EQ(gpus[0].numa_node, std::nullopt);
  EXPECT_EQ(gpus[0].iommu_group, std::nullopt);
  EXPECT_EQ(gpus[0].irq, std::nullopt);
  EXPECT_TRUE(gpus[0].path.empty());
}

TEST(ScanPciGpus, TakesOnlyNvidiasGpusAndNoVirtualFunctions) {
  const testing::Tree tree;
  tree.PciDevice("pci0000:00/0000:00:02.0", "0x1af4", "0x030000", "virtio-pci");
  tree.PciDevice("pci0000:00/0000:00:03.0", "0x10de", "0x068000", "");         // an NVSwitch
  tree.PciDevice("pci0000:00/0000:00:04.1", "0x10de", "0x040300", "");         // its sound
  tree.PciDevice("pci0000:00/0000:00:05.4", "0x10de", "0x030200", "nvidia");   // a function of…
  tree.Link("sys/devices/pci0000:00/0000:00:05.4/physfn", "../0000:00:05.0");  // …another
  tree.File("sys/bus/pci/devices/nonsense/vendor", "0x10de\n");
  tree.Link("sys/bus/pci/devices/0000:00:07.0", "../../../devices/pci0000:00/0000:00:07.0");
  tree.PciDevice("pci0001:00/0001:00:00.0", "0x10de", "0x030200", "vfio-pci");
  tree.PciDevice("pci0000:00/0000:00:06.0", "0x10de", "0x030200", "nvidia");

  const std::vector<PciGpu> gpus = Scan(tree);
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].pci.ToString(), "0000:00:06.0");
  EXPECT_EQ(gpus[1].pci.ToString(), "0001:00:00.0");
  EXPECT_EQ(gpus[1].driver, "vfio-pci");
}

TEST(ScanPciGpus, FailsWithoutABus) {
  const testing::Tree tree;
  const base::Result<std::vector<PciGpu>> gpus = ScanPciGpus(tree.root());
  ASSERT_FALSE(gpus.ok());
  EXPECT_EQ(gpus.error().code(), base::ErrorCode::kNotFound);
}

}  // namespace
TEST(DrmNodes, AreTheFolderOfTheFunction) {
  const testing::Tree tree;
  tree.PciDevice("pci10000:00/10000:3b:00.0", "0x10de", "0x030200", "nvidia");
  tree.File("sys/devices/pci10000:00/10000:3b:00.0/drm/renderD128/dev", "226:128\n");
  tree.File("sys/devices/pci10000:00/10000:3b:00.0/drm/card1/dev", "226:1\n");
  EXPECT_EQ(DrmNodes(tree.root(), {.domain = 0x10000, .bus = 0x3b}),
            (std::vector<std::string>{"card1", "renderD128"}));
  EXPECT_EQ(DrmNodes(tree.root(), {.bus = 0x3b}), std::vector<std::string>());
}

}  // namespace partita::hw::sysfs
