#include "service/mig/node_goal.h"

#include <string>

#include <gtest/gtest.h>

#include "model/testing/mig_notation.h"
#include "model/testing/product_geometry.h"
#include "service/mig/node_plan.h"
#include "service/mig/testing/targets.h"

namespace partita::service::mig {
namespace {

using model::testing::GpuWith;
using model::testing::ProductGpu;

// GPUs in this order, with indexes and addresses of their own.
model::Inventory NodeWith(std::vector<model::Gpu> gpus) {
  model::Inventory inventory;
  inventory.driver.emplace();
  for (std::uint32_t i = 0; i < gpus.size(); ++i) {
    gpus[i].index = model::GpuIndex(i);
    gpus[i].pci = {0, static_cast<std::uint8_t>(i + 1), 0, 0};
  }
  inventory.gpus = std::move(gpus);
  return inventory;
}

model::Gpu WithoutMig() {
  model::Gpu gpu;
  gpu.name = "Tesla T4";
  gpu.pci_device_id = 0x1EB810DE;
  return gpu;
}

base::Result<NodeGoal> ResolveText(const std::string& specs, const model::Inventory& inventory) {
  const std::string text = "version: v1\nmig-configs:\n  c:\n" + specs;
  TRY(file, config::MigConfigFile::Parse(text, "mig.yaml"));
  TRY(config, file.Select("c"));
  return ResolveConfig(file, *config, inventory);
}

NodeGoal Resolved(const std::string& specs, const model::Inventory& inventory) {
  base::Result<NodeGoal> goal = ResolveText(specs, inventory);
  EXPECT_TRUE(goal.ok()) << (goal.ok() ? "" : goal.error().message());
  return goal.ok() ? *std::move(goal) : NodeGoal{};
}

std::string Problem(const std::string& specs, const model::Inventory& inventory) {
  const base::Result<NodeGoal> goal = ResolveText(specs, inventory);
  if (goal.ok()) return "none";
  EXPECT_EQ(goal.error().code(), base::ErrorCode::kInvalid);
  return goal.error().message();
}

TEST(NodeGoalTest, ResolvesNamesForEachKindOfGpu) {
  const model::Inventory node = NodeWith({ProductGpu("A100-SXM4-40GB"), ProductGpu("H200")});
  EXPECT_EQ(Resolved("  - {devices: all, mig-enabled: true, mig-devices: {1g: 2}}\n", node),
            (NodeGoal{Target(node, 0, "2 x 1g.5gb"), Target(node, 1, "2 x 1g.18gb")}));
}

TEST(NodeGoalTest, LeavesOutWhatNothingSelects) {
  const model::Inventory node =
      NodeWith({ProductGpu("H200"), ProductGpu("H200"), ProductGpu("H200")});
  EXPECT_EQ(Resolved("  - {devices: [2], mig-enabled: true, mig-devices: {7g.141gb: 1}}\n"
                     "  - {devices: [0], mig-enabled: false}\n",
                     node),
            (NodeGoal{Mode(node, 0, false), Target(node, 2, "7g.141gb")}));
}

TEST(NodeGoalTest, TakesAllAsAllThatCanDoMig) {
  const model::Inventory node = NodeWith({WithoutMig(), ProductGpu("H200")});
  EXPECT_EQ(Resolved("  - {devices: all, mig-enabled: true, mig-devices: {}}\n", node),
            (NodeGoal{Mode(node, 1, true)}));
}

TEST(NodeGoalTest, DropsCountsOfZeroAndSumsSpellings) {
  const model::Inventory node = NodeWith({ProductGpu("H200")});
  EXPECT_EQ(Resolved("  - devices: all\n    mig-enabled: true\n"
                     "    mig-devices: {1g.18gb: 1, 1c.1g.18gb: 1, 3g.71gb: 0}\n",
                     node),
            (NodeGoal{Target(node, 0, "2 x 1g.18gb")}));
}

TEST(NodeGoalTest, RefusesAGpuWithoutMigThatIsNamed) {
  EXPECT_EQ(
      Problem("  - {devices: [0], mig-enabled: true, mig-devices: {}}\n", NodeWith({WithoutMig()})),
      "mig.yaml:4:5: GPU 0 (Tesla T4) cannot do MIG\n"
      "    4 |   - {devices: [0], mig-enabled: true, mig-devices: {}}\n"
      "      |     ^ leave it out of \"devices\"");
}

TEST(NodeGoalTest, RefusesAGpuThatCannotBeAsked) {
  model::Gpu lost;
  lost.faults.push_back({model::FaultKind::kLost, "fell off the bus: reboot the node"});
  EXPECT_EQ(Problem("  - {devices: [0], mig-enabled: true, mig-devices: {}}\n", NodeWith({lost})),
            "mig.yaml:4:5: GPU 0 cannot be configured\n"
            "    4 |   - {devices: [0], mig-enabled: true, mig-devices: {}}\n"
            "      |     ^ fell off the bus: reboot the node");
}

// Left out as one without MIG, it would count as configured.
TEST(NodeGoalTest, LeavesNoGpuOutWhoseMigCannotBeRead) {
  model::Gpu half = ProductGpu("H200");
  half.faults.push_back({model::FaultKind::kResetRequired, "needs a reset"});
  for (model::Gpu gpu : {WithoutMig(), half}) {
    gpu.mig_error = base::Error(base::ErrorCode::kInternal, "mode: Unknown Error");
    const base::Result<NodeGoal> goal =
        ResolveText("  - {devices: all, mig-enabled: true, mig-devices: {}}\n", NodeWith({gpu}));
    ASSERT_FALSE(goal.ok());
    EXPECT_EQ(goal.error().ToString(),
              "GPU 0: what MIG has made of it cannot be read: mode: Unknown Error");
  }
}

TEST(NodeGoalTest, RefusesEntriesThatDisagree) {
  const model::Inventory node = NodeWith({ProductGpu("H200")});
  const std::string first = "  - {devices: all, mig-enabled: true, mig-devices: {1g: 2}}\n";
  EXPECT_EQ(Problem(first + first, node), "none");
  EXPECT_EQ(Problem(first + "  - {devices: [0], mig-enabled: false}\n", node),
            "mig.yaml:5:5: GPU 0 is in two entries that want different things of it\n"
            "    5 |   - {devices: [0], mig-enabled: false}\n"
            "      |     ^ the other is in line 4");
}

TEST(NodeGoalTest, ReportsAnUnknownNameOnceForEachKind) {
  const model::Inventory node = NodeWith({ProductGpu("H200"), ProductGpu("H200")});
  const std::string problem =
      Problem("  - {devices: all, mig-enabled: true, mig-devices: {1g.81gb: 1}}\n", node);
  EXPECT_TRUE(problem.starts_with("mig.yaml:4:53: NVIDIA H200: ")) << problem;
  EXPECT_EQ(problem.find("mig.yaml", 1), std::string::npos) << problem;
}

TEST(NodeGoalTest, AsksForModesAlone) {
  const model::Inventory node = NodeWith({ProductGpu("H200"), GpuWith("H200", "1g.18gb@0")});
  const NodeGoal goal = {Target(node, 0, "7g.141gb"), Target(node, 1, "7g.141gb")};
  EXPECT_EQ(ModeOnly(node, goal), (NodeGoal{Mode(node, 0, true)}));
}

TEST(NodeGoalTest, KeepsInstancesWhoseModeWasToGo) {
  model::Inventory node = NodeWith({GpuWith("A100-SXM4-40GB", "1g.5gb@0")});
  node.gpus[0].mig->pending_enabled = false;
  const NodeGoal modes = ModeOnly(node, {Target(node, 0, "7g.40gb")});
  ASSERT_EQ(modes.size(), 1U);
  const NodePlan plan = PlanNode(node, modes);
  const auto& gpu = std::get<model::GpuPlan>(plan.gpus[0].plan);
  EXPECT_TRUE(gpu.request);
  EXPECT_FALSE(gpu.reset);
  EXPECT_TRUE(gpu.layout.ChangesNothing());
}

}  // namespace
}  // namespace partita::service::mig
