#include "model/gpu_selection.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/command_line.h"
#include "model/testing/sample_inventories.h"

namespace partita::model {
namespace {

using Words = std::vector<std::string>;

std::string Chosen(const NodeReport& node, const Words& words) {
  const base::Result<model::Inventory> selected = SelectGpus(node.inventory, words);
  if (!selected.ok()) return base::ErrorText("partita", selected.error());
  std::string chosen;
  for (const model::Gpu& gpu : selected->gpus) chosen += gpu.pci.ToString() + " ";
  for (const model::VfioGpu& gpu : selected->vfio) chosen += gpu.pci.ToString() + "(vfio) ";
  return chosen;
}

TEST(SelectGpus, TakesEverySpelling) {
  const NodeReport node = testing::DgxA100Mixed();
  const std::string second = "0000:0f:00.0 ";
  EXPECT_EQ(Chosen(node, {"1"}), second);
  EXPECT_EQ(Chosen(node, {"GPU-5e701c21-0a1b-4c2d-9e3f-5a6b7c8d9e01"}), second);
  EXPECT_EQ(Chosen(node, {"gpu-5E701C21"}), second);
  EXPECT_EQ(Chosen(node, {"0000:0f:00.0"}), second);
  EXPECT_EQ(Chosen(node, {"00000000:0F:00.0"}), second);
  EXPECT_EQ(Chosen(node, {"0f:00.0"}), second);
  EXPECT_EQ(Chosen(node, {"MIG-3fa10002-5c1f-5d3e-8b7a-000200070000"}), "0000:47:00.0 ");
}

TEST(SelectGpus, KeepsTheOrderOfTheNodeAndEachOnce) {
  EXPECT_EQ(Chosen(testing::DgxA100Mixed(), {"1", "0", "0f:00.0"}), "0000:07:00.0 0000:0f:00.0 ");
  EXPECT_EQ(SelectGpus(testing::DgxA100Mixed().inventory, {}).value(),
            testing::DgxA100Mixed().inventory);
}

TEST(SelectGpus, TakesSeveralInOneWord) {
  EXPECT_EQ(Chosen(testing::DgxA100Mixed(), {"0,1"}), "0000:07:00.0 0000:0f:00.0 ");
  EXPECT_EQ(Chosen(testing::DgxA100Mixed(), {"0f:00.0, gpu-5E701C21", "0"}),
            "0000:07:00.0 0000:0f:00.0 ");
  EXPECT_EQ(Chosen(testing::DgxA100Mixed(), {"0,42"}).substr(0, 33),
            "partita: --gpu \"42\": no such GPU\n");
  EXPECT_EQ(Chosen(testing::DgxA100Mixed(), {"0,"}).substr(0, 31),
            "partita: --gpu \"\": no such GPU\n");
}

TEST(SelectGpus, TakesGpusBoundToVfioByAddress) {
  EXPECT_EQ(Chosen(testing::VfioNode(), {"4e:00.0"}), "0000:4e:00.0(vfio) ");
}

TEST(SelectGpus, SaysWhatThereIsWhenNothingFits) {
  EXPECT_EQ(Chosen(testing::VfioNode(), {"7"}),
            "partita: --gpu \"7\": no such GPU\n"
            "  this machine has 0 at 0000:07:00.0, 0000:47:00.0 (vfio), 0000:4e:00.0 (vfio)\n");
  EXPECT_EQ(Chosen(testing::VfioNode(), {""}).substr(0, 31), "partita: --gpu \"\": no such GPU\n");
}

TEST(SelectGpus, TakesEveryGpuOfAProduct) {
  EXPECT_EQ(SelectGpus(testing::DgxA100Mixed().inventory, {"a100-sxm4-40gb"})->gpus.size(), 8U);
  EXPECT_EQ(SelectGpus(testing::H200Idle().inventory, {"NVIDIA H200"})->gpus.size(), 1U);
  EXPECT_FALSE(SelectGpus(testing::H200Idle().inventory, {"H100"}).ok());
}

TEST(SelectGpus, RefusesAnAmbiguousStart) {
  EXPECT_EQ(Chosen(testing::DgxA100Mixed(), {"GPU-"}).substr(0, 43),
            "partita: --gpu \"GPU-\": fits several GPUs\n  ");
}

TEST(SelectGpus, DropsLinksAndProblemsOfOthers) {
  const model::Inventory all = testing::FaultyNode().inventory;
  const model::Inventory first = SelectGpus(all, {"0"}).value();
  ASSERT_EQ(first.problems.size(), 1U);  // the node's own
  EXPECT_EQ(first.problems[0].gpu, "");
  const model::Inventory hung = SelectGpus(all, {"2"}).value();
  EXPECT_EQ(hung.problems.size(), 2U);

  const model::Inventory two = SelectGpus(testing::DgxA100Mixed().inventory, {"0", "1"}).value();
  EXPECT_EQ(two.links.size(), 1U);
  EXPECT_EQ(two.switch_links.size(), 2U);
}

}  // namespace
}  // namespace partita::model
