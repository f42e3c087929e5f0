#include "service/mig/goal_source.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/value.h"
#include "model/testing/sample_inventories.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {
namespace {

model::Inventory MixedNode() { return model::testing::DgxA100Mixed().inventory; }

const char* const kFile = R"(version: v1
mig-configs:
  slices:
    - devices: [4, 5]
      mig-enabled: true
      mig-devices: {1g.5gb: 7}
  beyond:
    - devices: [4, 99]
      mig-enabled: true
      mig-devices: {1g.5gb: 7}
)";

WantedGoal Parsed(GoalSource source) {
  base::Result<WantedGoal> goal = WantedGoal::Parse(std::move(source));
  PARTITA_CHECK(goal.ok());
  return *std::move(goal);
}

TEST(GoalSource, WordsAreForTheGpusThatAreNamed) {
  const WantedGoal goal = Parsed({.text = "1g.5gb:7", .file = "", .config = "", .gpus = {"4"}});
  const NodeGoal resolved = goal.Goal()(MixedNode()).value();
  ASSERT_EQ(resolved.size(), 1U);
  EXPECT_EQ(resolved[0].gpu.Name(), "GPU 4");
  EXPECT_TRUE(resolved[0].goal.mig_enabled);
  EXPECT_EQ(goal.Modes()(MixedNode())->size(), 1U);
}

TEST(GoalSource, AFileSelectsItsGpus) {
  GoalSource source{GoalKind::kFile, kFile, "mig.yaml", "slices"};
  EXPECT_EQ(Parsed(source).Resolve(MixedNode())->size(), 2U);
  source.gpus = {"5"};
  EXPECT_EQ(Parsed(source).Resolve(MixedNode())->size(), 1U);
}

TEST(GoalSource, ProblemsNameTheFileThatSomebodyWrote) {
  const GoalSource unknown{GoalKind::kFile, kFile, "mig.yaml", "slice"};
  EXPECT_EQ(WantedGoal::Parse(unknown).error().code(), base::ErrorCode::kInvalid);
  const GoalSource broken{GoalKind::kFile, "version: v2\n", "mig.yaml", ""};
  EXPECT_TRUE(WantedGoal::Parse(broken).error().message().starts_with("mig.yaml:1:10: "));
  const GoalSource words{.text = "1g.5gb:x", .file = "", .config = ""};
  EXPECT_TRUE(WantedGoal::Parse(words).error().message().starts_with("--want:1:8: "));
}

TEST(GoalSource, OnlyTheReferencePassesOverGpusThatAreNotHere) {
  GoalSource source{GoalKind::kFile, kFile, "mig.yaml", "beyond"};
  const base::Result<NodeGoal> strict = Parsed(source).Resolve(MixedNode());
  ASSERT_FALSE(strict.ok());
  EXPECT_TRUE(strict.error().message().starts_with("mig.yaml:8:7: GPU 99 is not on this machine"))
      << strict.error().message();
  source.as_reference = true;
  EXPECT_EQ(Parsed(source).Resolve(MixedNode())->size(), 1U);
}

TEST(GoalSource, ACheckpointIsWhatWasThere) {
  model::Inventory node = MixedNode();
  const std::string text = base::ToJson(CheckpointDocument(node).value());
  const WantedGoal goal = Parsed({GoalKind::kCheckpoint, text, "checkpoint.json", ""});
  EXPECT_EQ(goal.Goal()(node)->size(), node.gpus.size());
  EXPECT_FALSE(goal.Modes());
  EXPECT_EQ(goal.ResolveModes(node).error().code(), base::ErrorCode::kNoDriver);
  EXPECT_TRUE(goal.LeftOut(node, {}).empty());
}

}  // namespace
}  // namespace partita::service::mig
