#include "sim/load/node_file.h"

#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "sim/load/pci_address.h"
#include "sim/load/product.h"

namespace partita::sim::load {
namespace {

constexpr std::string_view kDriver = "driver: {version: 580.159.04, cuda: \"13.0\"}\n";

base::Result<LoadedNode> Load(std::string text) {
  static const Catalog catalog = Catalog::BuiltIn();
  return LoadNode({"my", "my.yaml", std::move(text)}, catalog, "");
}

std::string Problem(std::string text) {
  const auto node = Load(std::move(text));
  return node.ok() ? "no problem" : node.error().message();
}

TEST(NodeFile, TheSmallestOneLoads) {
  const auto node =
      Load(std::string(kDriver) + "gpus:\n  - {product: T4, pci: \"0000:01:00.0\"}\n");
  ASSERT_TRUE(node.ok()) << node.error().message();
  EXPECT_EQ(node->name, "my");
  EXPECT_STREQ(node->machine->node, "my");
  EXPECT_EQ(node->machine->gpu_count, 1U);
  EXPECT_EQ(node->machine->boards[0].numa_node, -1);
  EXPECT_EQ(node->machine->major_caps, 241U);
  EXPECT_EQ(node->machine->nvml_major, 13U);
}

TEST(NodeFile, TheDocumentedOneLoads) {
  const auto readme = base::ReadFile("data/README.md");
  ASSERT_TRUE(readme.ok()) << readme.error().ToString();
  const std::size_t begin = readme->find("```yaml\n") + 8;
  const auto node = Load(readme->substr(begin, readme->find("```\n", begin) - begin));
  ASSERT_TRUE(node.ok()) << node.error().message();
  EXPECT_EQ(node->name, "lab1");
  EXPECT_EQ(node->machine->gpu_count, 3U);
  EXPECT_EQ(node->machine->boards[2].minor, 5U);
  EXPECT_EQ(node->machine->boards[0].link_count, 4U);
}

std::string Alike(const std::string& product, int count) {
  std::string text = std::string(kDriver) + "gpus:\n";
  for (int i = 0; i < count; ++i) {
    text += "  - {product: " + product + ", pci: \"0000:" + "01234567"[i / 16] +
            "0123456789abcdef"[i % 16] + ":00.0\"}\n";
  }
  return text;
}

TEST(NodeFile, SixtyFourGpusFitAndOneMoreDoesNot) {
  const auto node = Load(Alike("T4", 64));
  ASSERT_TRUE(node.ok()) << node.error().message();
  EXPECT_EQ(node->machine->gpu_count, 64U);
  EXPECT_EQ(node->machine->boards[63].minor, 63U);
  EXPECT_EQ(Problem(Alike("T4", 65)),
            "my.yaml:67:5: more than 64 GPUs\n"
            "   67 |   - {product: T4, pci: \"0000:40:00.0\"}\n"
            "      |     ^ a simulated node has room for so many");
}

TEST(NodeFile, ThirtyTwoGpusWithMigFitAndOneMoreDoesNot) {
  const auto node = Load(Alike("A30", 32));
  ASSERT_TRUE(node.ok()) << node.error().message();
  EXPECT_EQ(node->machine->gpu_count, 32U);
  EXPECT_EQ(Problem(Alike("A30", 33)),
            "my.yaml:35:5: minor 32 for a GPU that can do MIG\n"
            "   35 |   - {product: A30, pci: \"0000:20:00.0\"}\n"
            "      |     ^ the driver numbers MIG capabilities for minors below 32");
}

TEST(NodeFile, GpusAreOrderedByAddress) {
  const auto node = Load(std::string(kDriver) +
                         "gpus:\n"
                         "  - {product: T4, pci: \"0000:81:00.0\", minor: 0}\n"
                         "  - {product: A30, pci: \"0000:01:00.0\"}\n");
  ASSERT_TRUE(node.ok()) << node.error().message();
  EXPECT_STREQ(node->machine->boards[0].product, "A30");
  EXPECT_EQ(node->machine->boards[0].minor, 1U);
  EXPECT_EQ(node->machine->boards[1].minor, 0U);
}

TEST(NodeFile, TheOpenModulesDriveNothingOlderThanTuring) {
  const std::string gpus =
      "gpus:\n"
      "  - {product: T4, pci: \"0000:01:00.0\"}\n"
      "  - {product: V100-SXM2-16GB, pci: \"0000:02:00.0\"}\n";
  const std::string said =
      ": \"V100-SXM2-16GB\" is older than the open kernel modules drive\n"
      "    4 |   - {product: V100-SXM2-16GB, pci: \"0000:02:00.0\"}\n"
      "      |               ^^^^^^^^^^^^^^ they begin with Turing: write open_kernel_module: "
      "false "
      "under driver:";
  EXPECT_EQ(Problem(std::string(kDriver) + gpus), "my.yaml:4:15" + said);
  EXPECT_EQ(
      Problem("driver: {version: 580.159.04, cuda: \"13.0\", open_kernel_module: true}\n" + gpus),
      "my.yaml:4:15" + said);
  EXPECT_TRUE(
      Load("driver: {version: 580.159.04, cuda: \"13.0\", open_kernel_module: false}\n" + gpus)
          .ok());
  // One that a virtual machine drives is nobody's business here.
  EXPECT_TRUE(Load(std::string(kDriver) +
                   "gpus:\n"
                   "  - {product: V100-SXM2-16GB, pci: \"0000:02:00.0\", pci_driver: vfio}\n")
                  .ok());
}

TEST(NodeFile, PairsAreLinkedDirectly) {
  const auto node = Load(std::string(kDriver) +
                         "nvlink: pairs\n"
                         "gpus:\n"
                         "  - {product: A30, pci: \"0000:01:00.0\"}\n"
                         "  - {product: T4, pci: \"0000:02:00.0\"}\n"
                         "  - {product: A30, pci: \"0000:03:00.0\"}\n");
  ASSERT_TRUE(node.ok()) << node.error().message();
  EXPECT_EQ(node->machine->boards[0].link_count, 4U);
  EXPECT_EQ(node->machine->boards[0].links[3].remote_bus, 3U);
  EXPECT_EQ(node->machine->boards[2].links[0].remote_bus, 1U);
  EXPECT_EQ(node->machine->boards[2].links[0].remote, LinkRemote::kGpu);
  EXPECT_EQ(node->machine->boards[1].link_count, 0U);
}

TEST(NodeFile, BoardsWithAFabricAreInTheOneThatIsNamed) {
  const std::string gpus =
      "gpus:\n  - {product: H200, pci: \"0000:01:00.0\"}\n  - {product: T4, pci: "
      "\"0000:02:00.0\"}\n";
  const auto node = Load(std::string(kDriver) +
                         "fabric_state: 3\nfabric_clique: 7\n"
                         "fabric_cluster: 5C89852c-d268-c3f3-1b07-005d5ae1dc3f\n" +
                         gpus);
  ASSERT_TRUE(node.ok()) << node.error().ToString();
  const Board& board = node->machine->boards[0];
  EXPECT_EQ(board.fabric_state.value, 3U);
  EXPECT_EQ(board.fabric_clique, 7U);
  EXPECT_EQ(board.fabric_cluster_uuid[0], 0x5CU);
  EXPECT_EQ(board.fabric_cluster_uuid[4], 0xD2U);
  EXPECT_EQ(board.fabric_cluster_uuid[15], 0x3FU);
  EXPECT_EQ(node->machine->boards[1].fabric_state.known, 0U);
  EXPECT_NE(
      Problem(std::string(kDriver) + "fabric_cluster: 5c89852cd268c3f31b07005d5ae1dc3f\n" + gpus)
          .find("not a UUID"),
      std::string::npos);
}

TEST(NodeFile, OverridesReplaceFactsOfTheProduct) {
  const auto node = Load(std::string(kDriver) +
                         "gpus:\n"
                         "  - product: H200\n"
                         "    pci: \"0000:01:00.0\"\n"
                         "    mig: true\n"
                         "    pci_driver: vfio\n"
                         "    iommu_group: 12\n"
                         "    overrides: {name: NVIDIA H200 X, memory_total: 1073741824}\n");
  ASSERT_TRUE(node.ok()) << node.error().message();
  EXPECT_STREQ(node->machine->boards[0].name, "NVIDIA H200 X");
  EXPECT_EQ(node->machine->boards[0].memory_total, 1073741824U);
  EXPECT_EQ(node->machine->boards[0].cores.value, 16896U);
  EXPECT_EQ(node->slot->gpus[0].mig_current, 1U);
  EXPECT_EQ(node->slot->gpus[0].pci_driver, PciDriver::kVfio);
  EXPECT_EQ(node->iommu_groups[0], 12U);
}

TEST(NodeFile, ReportsAllProblemsWithTheirPlaces) {
  EXPECT_EQ(
      Problem("driver: {version: five, cuda: \"13\"}\n"
              "majors: {gpu: 195, caps: 195}\n"
              "nvlnk: none\n"
              "nvlink: switch\n"
              "gpus:\n"
              "  - {product: A100, pci: 07:00.0}\n"
              "  - {product: T4, pci: \"0000:08:00.0\", numa: 3, mig: yes}\n"),
      "my.yaml:1:19: not a driver version: \"five\"\n"
      "    1 | driver: {version: five, cuda: \"13\"}\n"
      "      |                   ^^^^ write 580.159.04\n"
      "my.yaml:1:31: not a CUDA version: \"13\"\n"
      "    1 | driver: {version: five, cuda: \"13\"}\n"
      "      |                               ^^^^ write \"13.0\"\n"
      "my.yaml:2:26: the same major as \"gpu\"\n"
      "    2 | majors: {gpu: 195, caps: 195}\n"
      "      |                          ^^^\n"
      "my.yaml:3:1: unknown key \"nvlnk\"\n"
      "    3 | nvlnk: none\n"
      "      | ^^^^^ did you mean \"nvlink\"?\n"
      "my.yaml:4:9: expected none, switches or pairs, not \"switch\"\n"
      "    4 | nvlink: switch\n"
      "      |         ^^^^^^ did you mean \"switches\"?\n"
      "my.yaml:6:15: unknown product \"A100\"\n"
      "    6 |   - {product: A100, pci: 07:00.0}\n"
      "      |               ^^^^ known are A100-SXM4-40GB, A100-SXM4-80GB, A30, "
      "H100-80GB-HBM3, H200, RTX-PRO-6000, T4 or V100-SXM2-16GB\n"
      "my.yaml:6:26: not a PCI address: \"07:00.0\"\n"
      "    6 |   - {product: A100, pci: 07:00.0}\n"
      "      |                          ^^^^^^^ write \"0000:07:00.0\"; the function is always 0\n"
      "my.yaml:7:46: no NUMA node 3 in this file\n"
      "    7 |   - {product: T4, pci: \"0000:08:00.0\", numa: 3, mig: yes}\n"
      "      |                                              ^ list it under numa: with its CPUs\n"
      "my.yaml:7:54: \"T4\" cannot do MIG\n"
      "    7 |   - {product: T4, pci: \"0000:08:00.0\", numa: 3, mig: yes}\n"
      "      |                                                      ^^^");
}

TEST(NodeFile, RefusesOneAddressForTwoDevices) {
  EXPECT_EQ(Problem(std::string(kDriver) + "gpus:\n"
                                           "  - {product: T4, pci: \"0000:01:00.0\"}\n"
                                           "  - {product: T4, pci: \"0000:01:00.0\"}\n"),
            "my.yaml:4:24: 0000:01:00.0 is used twice\n"
            "    4 |   - {product: T4, pci: \"0000:01:00.0\"}\n"
            "      |                        ^^^^^^^^^^^^^^ also in line 3");
}

TEST(NodeFile, RefusesABridgeInTwoPlaces) {
  EXPECT_EQ(Problem(std::string(kDriver) +
                    "gpus:\n"
                    "  - {product: T4, pci: \"0000:07:00.0\", bridges: [\"0000:00:01.0\"]}\n"
                    "  - {product: T4, pci: \"0000:08:00.0\", bridges: [\"0000:00:02.0\", "
                    "\"0000:00:01.0\"]}\n"),
            "my.yaml:4:66: bridge 0000:00:01.0 hangs below 0000:00:02.0 here and below the root "
            "elsewhere\n"
            "    4 |   - {product: T4, pci: \"0000:08:00.0\", bridges: [\"0000:00:02.0\", "
            "\"0000:00:01.0\"]}\n"
            "      |                                                                  "
            "^^^^^^^^^^^^^^");
}

TEST(NodeFile, NamesOfNodesAreDirectories) {
  for (const char* good : {"a", "dgx-1", "node.example", "0"}) {
    EXPECT_TRUE(CheckNodeName(good).ok()) << good;
  }
  for (const char* bad : {"", "-a", "a-", "A", "a/b", "..", ".", "a b", "sim", "usr", "ä"}) {
    EXPECT_FALSE(CheckNodeName(bad).ok()) << bad;
  }
  EXPECT_FALSE(CheckNodeName(std::string(64, 'a')).ok());
}

TEST(PciAddress, ReadsWhatSysfsWrites) {
  EXPECT_EQ(FormatPciAddress(*ParsePciAddress("0000:AF:1f.0")), "0000:af:1f.0");
  EXPECT_EQ(FormatPciAddress(*ParsePciAddress("00010000:00:00.0")), "10000:00:00.0");
  for (const char* bad : {"", "07:00.0", "0000:07:00", "0000:07:00.1", "0000:7:00.0",
                          "0000:07:20.0", "0000:07:00.0 ", "000:07:00.0", "0000:zz:00.0"}) {
    EXPECT_FALSE(ParsePciAddress(bad).has_value()) << bad;
  }
}

TEST(ProductFile, EveryFactNeedsASourceAndAConfidence) {
  const Catalog catalog = Catalog::BuiltIn();
  const std::string good = catalog.FindProduct("T4")->text;
  ASSERT_TRUE(LoadProduct({"T4", "T4.yaml", good}).ok());
  const auto product = LoadProduct({"T4", "T4.yaml",
                                    good + "fans: {value: 1, source: nowhere, confidence: V}\n"
                                           "memory_clocks: [5001]\n"
                                           "clock_step_graphics: {value: 1, source: model}\n"
                                           "coers: {value: 1, source: model, confidence: D}\n"});
  ASSERT_FALSE(product.ok());
  const std::string& message = product.error().message();
  EXPECT_NE(message.find("expected smi-listing, pci-class, event-model or model, not \"nowhere\""),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("expected a fact with value, source and confidence, not a list"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("missing key \"confidence\""), std::string::npos) << message;
  EXPECT_NE(message.find("unknown key \"coers\""), std::string::npos) << message;
  EXPECT_NE(message.find("did you mean \"cores\"?"), std::string::npos) << message;
}

}  // namespace
}  // namespace partita::sim::load
