#include <gtest/gtest.h>

#include "service/labels/labels.h"
#include "service/labels/testing/mock_node.h"

namespace partita::service::labels {
namespace {

using config::MigStrategy;
using testing::Divide;
using testing::Expected;
using testing::MockNode;
using testing::Rendered;
using testing::TimeSliced;
using testing::With;

// What stands for GPUs of which "single" cannot say what they are.
Labels Invalid() {
  return Expected({{"gpu.product", "MOCKMODEL-MIG-INVALID"},
                   {"gpu.count", "0"},
                   {"gpu.replicas", "0"},
                   {"gpu.sharing-strategy", ""},
                   {"gpu.memory", "0"},
                   {"mig.capable", "true"},
                   {"mig.strategy", "single"}});
}

TEST(MigLabels, WithoutAStrategyADividedGpuIsNotOffered) {
  model::Inventory node = MockNode(1);
  Divide(node.gpus[0], {{"1g.5gb", {1}}});
  EXPECT_EQ(Rendered(node, TimeSliced("nvidia.com/gpu", 2)),
            Expected({{"gpu.replicas", "0"}, {"mig.capable", "true"}}));
}

TEST(MigLabels, AWholeGpuOfTheSameProductCountsBoth) {
  model::Inventory node = MockNode(2);
  Divide(node.gpus[0], {{"1g.5gb", {1}}});
  EXPECT_EQ(Rendered(node, TimeSliced("nvidia.com/gpu", 2)),
            Expected({{"gpu.count", "2"},
                      {"gpu.replicas", "2"},
                      {"gpu.sharing-strategy", "time-slicing"},
                      {"gpu.product", "MOCKMODEL-SHARED"},
                      {"mig.capable", "true"}}));
}

TEST(MigLabels, AWholeGpuIsDescribedBeforeMoreDividedOnes) {
  model::Inventory node = MockNode(3);
  for (std::size_t i = 0; i < 2; ++i) {
    node.gpus[i].name = "DIVIDED";
    Divide(node.gpus[i], {{"1g.5gb", {1}}});
  }
  EXPECT_EQ(Rendered(node), Expected({{"mig.capable", "true"}}));
}

TEST(MigLabels, AGpuThatDoesNotAnswerMakesNoOtherInvalid) {
  model::Inventory alone = MockNode(1);
  Divide(alone.gpus[0], {{"1g.5gb", {1}}});
  model::Inventory node = MockNode(2);
  Divide(node.gpus[0], {{"1g.5gb", {1}}});
  node.gpus[1].memory.reset();
  node.gpus[1].compute_major.reset();
  node.gpus[1].mig.reset();
  EXPECT_EQ(Rendered(node, With(MigStrategy::kSingle)),
            Rendered(alone, With(MigStrategy::kSingle)));
  const Rendering told = Render(node, With(MigStrategy::kSingle), {}, {});
  ASSERT_EQ(told.warnings.size(), 1U);
  EXPECT_EQ(told.warnings[0],
            "GPU 1 does not answer: it is counted, and labels say what the others say");
}

TEST(MigLabels, ACapableGpuWithMigOffIsWhole) {
  model::Inventory node = MockNode(1);
  node.gpus[0].mig.emplace();
  EXPECT_EQ(Rendered(node), Expected({{"mig.capable", "true"}}));
  EXPECT_EQ(Rendered(node, With(MigStrategy::kSingle)),
            Expected({{"mig.capable", "true"}, {"mig.strategy", "single"}}));
  EXPECT_EQ(Rendered(node, With(MigStrategy::kMixed)),
            Expected({{"mig.capable", "true"}, {"mig.strategy", "mixed"}}));
}

TEST(MigLabels, SingleDescribesTheMigDevices) {
  model::Inventory node = MockNode(2);
  for (model::Gpu& gpu : node.gpus) Divide(gpu, {{"1g.100gb+me", {1}}});
  const auto labels = [](const char* product, const char* replicas, const char* strategy) {
    return Expected({{"gpu.product", product},
                     {"gpu.count", "2"},
                     {"gpu.replicas", replicas},
                     {"gpu.sharing-strategy", strategy},
                     {"gpu.memory", "100"},
                     {"gpu.multiprocessors", "11"},
                     {"gpu.slices.gi", "1"},
                     {"gpu.slices.ci", "1"},
                     {"gpu.engines.copy", "1"},
                     {"gpu.engines.decoder", "12"},
                     {"gpu.engines.encoder", "13"},
                     {"gpu.engines.jpeg", "14"},
                     {"gpu.engines.ofa", "15"},
                     {"mig.capable", "true"},
                     {"mig.strategy", "single"}});
  };
  EXPECT_EQ(Rendered(node, With(MigStrategy::kSingle)),
            labels("MOCKMODEL-MIG-1g.100gb.me", "1", "none"));
  EXPECT_EQ(Rendered(node, With(MigStrategy::kSingle, TimeSliced("nvidia.com/gpu", 2))),
            labels("MOCKMODEL-MIG-1g.100gb.me-SHARED", "2", "time-slicing"));
}

TEST(MigLabels, SingleIsInvalidForAnEmptyGpu) {
  model::Inventory node = MockNode(2);
  Divide(node.gpus[0], {{"1g.5gb", {1}}});
  Divide(node.gpus[1], {});
  const Rendering rendering =
      Render(node, With(MigStrategy::kSingle), {}, {.started = {}, .ours = false});
  EXPECT_EQ(rendering.labels, Invalid());
  EXPECT_EQ(rendering.warnings,
            std::vector<std::string>{"the MIG strategy single does not fit this node: GPU 1 has "
                                     "MIG on and no MIG device"});
}

TEST(MigLabels, SingleIsInvalidForAGpuInstanceWithoutADevice) {
  model::Inventory node = MockNode(1);
  Divide(node.gpus[0], {{"1g.5gb", {}}});
  EXPECT_EQ(Rendered(node, With(MigStrategy::kSingle)), Invalid());
}

TEST(MigLabels, SingleIsInvalidForTwoProfiles) {
  model::Inventory node = MockNode(1);
  Divide(node.gpus[0], {{"3g.20gb", {3}}, {"1g.5gb", {1}}});
  EXPECT_EQ(Rendered(node, With(MigStrategy::kSingle)), Invalid());
}

TEST(MigLabels, SingleIsInvalidForGpusOfWhichSomeAreDivided) {
  model::Inventory node = MockNode(2);
  Divide(node.gpus[1], {{"1g.5gb", {1}}});
  EXPECT_EQ(Rendered(node, With(MigStrategy::kSingle)), Invalid());
}

TEST(MigLabels, MixedHasASetForEachProfile) {
  model::Inventory node = MockNode(1);
  Divide(node.gpus[0], {{"3g.20gb", {3}}, {"1g.5gb", {1}}});
  EXPECT_EQ(Rendered(node, With(MigStrategy::kMixed, TimeSliced("nvidia.com/mig-1g.5gb", 4))),
            Expected({{"gpu.replicas", "0"},
                      {"mig.capable", "true"},
                      {"mig.strategy", "mixed"},
                      {"mig-3g.20gb.product", "MOCKMODEL-MIG-3g.20gb"},
                      {"mig-3g.20gb.count", "1"},
                      {"mig-3g.20gb.replicas", "1"},
                      {"mig-3g.20gb.sharing-strategy", "none"},
                      {"mig-3g.20gb.memory", "19968"},
                      {"mig-3g.20gb.multiprocessors", "42"},
                      {"mig-3g.20gb.slices.gi", "3"},
                      {"mig-3g.20gb.slices.ci", "3"},
                      {"mig-3g.20gb.engines.copy", "3"},
                      {"mig-3g.20gb.engines.decoder", "0"},
                      {"mig-3g.20gb.engines.encoder", "0"},
                      {"mig-3g.20gb.engines.jpeg", "0"},
                      {"mig-3g.20gb.engines.ofa", "0"},
                      {"mig-1g.5gb.product", "MOCKMODEL-MIG-1g.5gb-SHARED"},
                      {"mig-1g.5gb.count", "1"},
                      {"mig-1g.5gb.replicas", "4"},
                      {"mig-1g.5gb.sharing-strategy", "time-slicing"},
                      {"mig-1g.5gb.memory", "4864"},
                      {"mig-1g.5gb.multiprocessors", "14"},
                      {"mig-1g.5gb.slices.gi", "1"},
                      {"mig-1g.5gb.slices.ci", "1"},
                      {"mig-1g.5gb.engines.copy", "1"},
                      {"mig-1g.5gb.engines.decoder", "0"},
                      {"mig-1g.5gb.engines.encoder", "0"},
                      {"mig-1g.5gb.engines.jpeg", "0"},
                      {"mig-1g.5gb.engines.ofa", "0"}}));
}

TEST(MigLabels, MixedNamesAPartOfAnInstanceByItsComputeSlices) {
  model::Inventory node = MockNode(1);
  Divide(node.gpus[0], {{"3g.20gb", {1, 1}}});
  const Labels labels = Rendered(node, With(MigStrategy::kMixed));
  EXPECT_EQ(labels.at("nvidia.com/mig-1c.3g.20gb.count"), "2");
  EXPECT_EQ(labels.at("nvidia.com/mig-1c.3g.20gb.slices.gi"), "3");
  EXPECT_EQ(labels.at("nvidia.com/mig-1c.3g.20gb.slices.ci"), "1");
  EXPECT_EQ(labels.at("nvidia.com/mig-1c.3g.20gb.multiprocessors"), "14");
}

TEST(MigLabels, MixedSaysNothingOfAnEmptyGpu) {
  model::Inventory node = MockNode(1);
  Divide(node.gpus[0], {});
  EXPECT_EQ(Rendered(node, With(MigStrategy::kMixed)),
            Expected({{"gpu.replicas", "0"}, {"mig.capable", "true"}, {"mig.strategy", "mixed"}}));
}

}  // namespace
}  // namespace partita::service::labels
