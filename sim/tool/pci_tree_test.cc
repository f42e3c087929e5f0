#include "sim/tool/pci_tree.h"

#include <stdlib.h>

#include <filesystem>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "sim/load/pci_address.h"
#include "sim/tool/pci_device.h"

namespace partita::sim::tool {
namespace {

load::LoadedNode LoadBuiltIn(std::string_view profile) {
  const load::Catalog catalog = load::Catalog::BuiltIn();
  auto node = load::LoadNode(*catalog.FindNode(profile), catalog, "");
  EXPECT_TRUE(node.ok()) << node.error().ToString();
  return *std::move(node);
}

// A root with the PCI files of a node, removed at the end.
class Tree {
 public:
  explicit Tree(const load::LoadedNode& node) {
    char path[] = "/tmp/partita-pci-tree.XXXXXX";
    root_ = mkdtemp(path);
    const auto made = MakePciTree(root_, node);
    EXPECT_TRUE(made.ok()) << made.error().ToString();
  }
  ~Tree() { EXPECT_TRUE(base::RemoveTree(root_).ok()); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const std::string& root() const { return root_; }
  std::string Device(const PciFunction& address) const {
    return root_ + "/sys/bus/pci/devices/" + load::FormatPciAddress(address);
  }
  std::string Read(const std::string& path) const {
    const auto text = base::ReadFile(path);
    EXPECT_TRUE(text.ok()) << text.error().ToString();
    return text.ok() ? *text : "";
  }
  std::string Driver(const PciFunction& address) const {
    const auto link = base::ReadLink(Device(address) + "/driver");
    return link.ok() ? link->substr(link->rfind('/') + 1) : "";
  }
  void Render(const load::LoadedNode& node) const {
    const auto rendered = RenderDriverLinks(root_, *node.machine, *node.slot);
    EXPECT_TRUE(rendered.ok()) << rendered.error().ToString();
  }

 private:
  std::string root_;
};

unsigned Byte(const std::string& bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes.at(at));
}

TEST(PciTree, EveryEntryResolvesAndParses) {
  for (const char* profile : {"dgx-a100-40", "h200-vm", "hgx-h200", "mixed"}) {
    const load::LoadedNode node = LoadBuiltIn(profile);
    const Tree tree(node);
    const std::string devices = tree.root() + "/sys/bus/pci/devices";
    const auto names = base::ListDirectory(devices);
    ASSERT_TRUE(names.ok());
    EXPECT_EQ(names->size(), ListPciDevices(node).size()) << profile;
    for (const std::string& name : *names) {
      const std::string directory = base::JoinPath(devices, name);
      ASSERT_TRUE(std::filesystem::is_symlink(directory)) << directory;
      ASSERT_TRUE(std::filesystem::is_directory(std::filesystem::canonical(directory)))
          << directory;
      const std::string config = tree.Read(directory + "/config");
      ASSERT_EQ(config.size(), 256U);
      const auto vendor = base::ParseUnsigned(tree.Read(directory + "/vendor").substr(2, 4), 16);
      const auto device = base::ParseUnsigned(tree.Read(directory + "/device").substr(2, 4), 16);
      EXPECT_EQ(vendor, Byte(config, 0) | (Byte(config, 1) << 8)) << directory;
      EXPECT_EQ(device, Byte(config, 2) | (Byte(config, 3) << 8)) << directory;
      EXPECT_EQ(Byte(config, 6) & 0x10, 0x10U);
      const std::string resource = tree.Read(directory + "/resource");
      for (const std::string_view line : base::SplitLines(resource)) {
        EXPECT_EQ(base::SplitWords(line).size(), 3U) << directory << ": " << line;
      }
      EXPECT_TRUE(
          std::filesystem::exists(std::filesystem::canonical(directory) / "subsystem/devices"));
    }
  }
}

TEST(PciTree, CapabilityListOfAGpuEnds) {
  const load::LoadedNode node = LoadBuiltIn("h200-vm");
  const std::string config = ConfigSpace(ListPciDevices(node)[0]);
  std::set<unsigned> seen, kinds;
  for (unsigned at = Byte(config, 0x34); at != 0; at = Byte(config, at + 1)) {
    ASSERT_TRUE(seen.insert(at).second) << "a loop at " << at;
    kinds.insert(Byte(config, at));
  }
  EXPECT_EQ(kinds, (std::set<unsigned>{0x01, 0x05, 0x10}));
  EXPECT_EQ(Byte(config, 0x78 + 0x0C) & 0xF, 5U);  // generation
}

TEST(PciTree, BridgesStandAboveTheirGpus) {
  const load::LoadedNode node = LoadBuiltIn("dgx-a100-40");
  const Tree tree(node);
  const auto real = std::filesystem::canonical(tree.Device(node.machine->boards[1].pci)).string();
  EXPECT_TRUE(
      real.ends_with("/sys/devices/pci0000:04/0000:04:01.0/0000:05:00.0/0000:06:08.0/"
                     "0000:0f:00.0"))
      << real;
  const std::string bridge = tree.Device({0, 0x04, 0x01});
  EXPECT_EQ(tree.Read(bridge + "/class"), "0x060400\n");
  const std::string config = tree.Read(bridge + "/config");
  EXPECT_EQ(Byte(config, 0x0E), 1U);
  EXPECT_EQ(Byte(config, 0x19), 0x05U);  // secondary
  EXPECT_EQ(Byte(config, 0x1A), 0x0FU);  // subordinate: the farther of the two GPUs
  EXPECT_EQ(tree.Read(tree.Device(node.machine->switches[0]) + "/class"), "0x068000\n");
  EXPECT_EQ(tree.Read(tree.Device(node.machine->switches[0]) + "/device"), "0x1af1\n");
  EXPECT_EQ(tree.Driver(node.machine->switches[0]), "nvidia-nvswitch");
}

TEST(PciTree, BarsDoNotOverlap) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const PciDevice& device : ListPciDevices(LoadBuiltIn("hgx-h200"))) {
    for (const PciBar& bar : device.bars) {
      if (bar.size == 0) continue;
      EXPECT_EQ(bar.address % bar.size, 0U);
      ranges.insert({bar.address, bar.address + bar.size});
    }
  }
  std::uint64_t end = 0;
  for (const auto& range : ranges) {
    EXPECT_GE(range.first, end);
    end = range.second;
  }
  EXPECT_EQ(ranges.size(), 8U * 3 + 4);
}

TEST(PciTree, DriverLinksFollowTheState) {
  load::LoadedNode node = LoadBuiltIn("mixed");
  const Tree tree(node);
  const PciFunction& pci = node.machine->boards[2].pci;
  const std::string bound = tree.root() + "/sys/bus/pci/drivers/";
  EXPECT_EQ(tree.Driver(pci), "nvidia");
  EXPECT_TRUE(base::Exists(bound + "nvidia/0000:af:00.0/vendor"));
  EXPECT_EQ(tree.Read(tree.Device(pci) + "/uevent").substr(0, 14), "DRIVER=nvidia\n");

  node.slot->gpus[2].pci_driver = PciDriver::kVfio;
  tree.Render(node);
  EXPECT_EQ(tree.Driver(pci), "vfio-pci");
  EXPECT_FALSE(base::Exists(bound + "nvidia/0000:af:00.0"));
  EXPECT_TRUE(base::Exists(bound + "vfio-pci/0000:af:00.0"));

  node.slot->gpus[2].pci_driver = PciDriver::kUnbound;
  tree.Render(node);
  EXPECT_EQ(tree.Driver(pci), "");
  EXPECT_FALSE(base::Exists(bound + "vfio-pci/0000:af:00.0"));
  EXPECT_EQ(tree.Read(tree.Device(pci) + "/uevent").substr(0, 10), "PCI_CLASS=");

  node.slot->gpus[2].pci_driver = PciDriver::kVfio;
  node.slot->driver_loaded = 0;
  tree.Render(node);
  EXPECT_EQ(tree.Driver(node.machine->boards[0].pci), "");
  EXPECT_EQ(tree.Driver(pci), "vfio-pci");  // another driver's
  EXPECT_FALSE(base::Exists(tree.root() + "/sys/module/nvidia"));
  node.slot->driver_loaded = 1;
  tree.Render(node);
  EXPECT_EQ(tree.Driver(node.machine->boards[0].pci), "nvidia");
  EXPECT_EQ(tree.Read(tree.root() + "/sys/module/nvidia/version"), "580.159.04\n");
}

TEST(PciTree, AGpuOffTheBusAnswersWithOnes) {
  load::LoadedNode node = LoadBuiltIn("mixed");
  const Tree tree(node);
  const std::string config = tree.Device(node.machine->boards[2].pci) + "/config";
  const std::string before = tree.Read(config);
  node.slot->gpus[2].lost = 1;
  tree.Render(node);
  EXPECT_EQ(tree.Read(config).substr(0, 4), "\xFF\xFF\xFF\xFF");
  node.slot->gpus[2].lost = 0;
  tree.Render(node);
  EXPECT_EQ(tree.Read(config), before);
}

TEST(PciTree, IommuGroupsOnlyWhereTheFileSaysSo) {
  const load::Catalog catalog = load::Catalog::BuiltIn();
  const auto node = load::LoadNode({"n", "n.yaml",
                                    "driver: {version: 580.159.04, cuda: \"13.0\"}\n"
                                    "gpus:\n"
                                    "  - {product: A30, pci: \"0000:01:00.0\", iommu_group: 7}\n"
                                    "  - {product: A30, pci: \"0000:02:00.0\"}\n"},
                                   catalog, "");
  ASSERT_TRUE(node.ok()) << node.error().message();
  const Tree tree(*node);
  EXPECT_TRUE(base::Exists(tree.root() + "/sys/kernel/iommu_groups/7/devices/0000:01:00.0/vendor"));
  EXPECT_TRUE(base::Exists(tree.Device({0, 1, 0}) + "/iommu_group/type"));
  EXPECT_FALSE(base::Exists(tree.Device({0, 2, 0}) + "/iommu_group"));
  // Facts that nobody knows have no file.
  EXPECT_FALSE(base::Exists(tree.Device({0, 1, 0}) + "/max_link_speed"));
}

TEST(PciDevice, CpusAreWrittenAsTheKernelDoes) {
  EXPECT_EQ(CpuList({0xFFFF}), "0-15");
  EXPECT_EQ(CpuMask({0xFFFF}), "0000ffff");
  EXPECT_EQ(CpuList({~std::uint64_t{0}, 0, 1}), "0-63,128");
  EXPECT_EQ(CpuMask({~std::uint64_t{0}, 0, 1}), "00000001,00000000,00000000,ffffffff,ffffffff");
  EXPECT_EQ(CpuList({0, 0}), "");
  EXPECT_EQ(CpuMask({0, 0}), "00000000");
  EXPECT_EQ(CpuList({0b1011}), "0-1,3");
}

TEST(PciDevice, LinkSpeedsAreWrittenAsTheKernelDoes) {
  EXPECT_EQ(LinkSpeed(3), "8.0 GT/s PCIe");
  EXPECT_EQ(LinkSpeed(5), "32.0 GT/s PCIe");
  EXPECT_EQ(LinkSpeed(0), "");
  EXPECT_EQ(LinkSpeed(99), "");
}

}  // namespace
}  // namespace partita::sim::tool
