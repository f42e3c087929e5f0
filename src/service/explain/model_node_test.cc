#include "service/explain/model_node.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::service::explain {
namespace {

// "0 NVIDIA H200: 1g.18gb 3g.71gb", a line for each GPU.
std::string Drawn(const base::Result<ModelNode>& node) {
  if (!node.ok()) return node.error().ToString() + " > " + node.error().hint();
  std::vector<std::string> lines;
  for (const model::Gpu& gpu : node->inventory.gpus) {
    std::string line = fmt::format("{} {}", *gpu.index, gpu.name);
    if (gpu.mig && gpu.mig->enabled) {
      line += ":";
      for (const auto& instance : gpu.mig->instances)
        for (const auto& compute : instance.compute_instances) line += " " + compute.name;
    }
    lines.push_back(std::move(line));
  }
  return base::Join(lines, "\n");
}

TEST(MakeModelNode, TakesProductsMachinesAndLayouts) {
  EXPECT_EQ(Drawn(MakeModelNode({"h200"}, std::nullopt)), "0 NVIDIA H200");
  EXPECT_EQ(Drawn(MakeModelNode({"T4 x2"}, std::nullopt)), "0 Tesla T4\n1 Tesla T4");
  EXPECT_EQ(Drawn(MakeModelNode({"A100-SXM4-40GB", "A100-SXM4-40GB x2 = 3g.20gb,1g.5gb:2"},
                                std::nullopt)),
            "0 NVIDIA A100-SXM4-40GB\n"
            "1 NVIDIA A100-SXM4-40GB: 1g.5gb 1g.5gb 3g.20gb\n"
            "2 NVIDIA A100-SXM4-40GB: 1g.5gb 1g.5gb 3g.20gb");
  const auto dgx = MakeModelNode({"dgx-a100-40"}, "all-1g.5gb");
  ASSERT_TRUE(dgx.ok()) << dgx.error().ToString();
  ASSERT_EQ(dgx->inventory.gpus.size(), 8U);
  EXPECT_EQ(dgx->inventory.gpus[7].mig->instances.size(), 7U);
  EXPECT_EQ(dgx->facts.machine, "DGXA100 920-23687-2530-000");
  EXPECT_EQ(dgx->inventory.driver->version, "580.159.04");
  EXPECT_EQ(Drawn(MakeModelNode({"mixed"}, "1g.5gb")),
            "0 Tesla T4\n1 Tesla V100-SXM2-16GB\n2 NVIDIA A100-SXM4-40GB: 1g.5gb")
      << "those that can";
}

TEST(MakeModelNode, GivesEveryDeviceANameOfItsOwn) {
  const auto node = MakeModelNode({"A30 x3"}, "1g.6gb:2,2g.12gb");
  ASSERT_TRUE(node.ok()) << node.error().ToString();
  std::set<std::string> ids;
  std::set<model::PciAddress> places;
  for (const model::Gpu& gpu : node->inventory.gpus) {
    ids.insert(gpu.uuid->value());
    places.insert(gpu.pci);
    for (const auto& instance : gpu.mig->instances)
      for (const auto& compute : instance.compute_instances) ids.insert(compute.uuid.value());
  }
  EXPECT_EQ(ids.size(), 12U);
  EXPECT_EQ(places.size(), 3U);
}

TEST(MakeModelNode, SaysWhatIsWrong) {
  EXPECT_EQ(
      Drawn(MakeModelNode({"H2000"}, std::nullopt)),
      "--model \"H2000\": no product \"H2000\" is known > did you mean \"H200\"?; machines are "
      "dgx-a100-40, h200-vm, hgx-h200, mixed");
  EXPECT_EQ(Drawn(MakeModelNode({"T4 = 1g.5gb"}, std::nullopt)),
            "--model \"T4 = 1g.5gb\": Tesla T4 cannot do MIG > ");
  EXPECT_EQ(Drawn(MakeModelNode({"H200 x65"}, std::nullopt)),
            "--model \"H200 x65\": 65 GPUs > 1 to 64 are possible");
  EXPECT_EQ(
      Drawn(MakeModelNode({"dgx-a100-40 x2"}, std::nullopt)),
      "--model \"dgx-a100-40 x2\": dgx-a100-40 is a machine, and there is one > name a product "
      "to have several");
  EXPECT_EQ(Drawn(MakeModelNode({"T4"}, "1g.5gb")), "--mig: no GPU of the model can do MIG > ");
  EXPECT_FALSE(MakeModelNode({"A100-SXM4-40GB = 7g.40gb:2"}, std::nullopt).ok());
}

}  // namespace
}  // namespace partita::service::explain
