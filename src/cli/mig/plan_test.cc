#include "cli/mig/plan.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/value.h"
#include "cli/exit_status.h"
#include "cli/mig/compare.h"
#include "cli/mig/request.h"
#include "config/products.h"
#include "model/testing/sample_inventories.h"
#include "tests/golden/golden.h"

namespace partita::cli {
namespace {

using service::mig::NodeGoal;
using service::mig::NodePlan;

NodeGoal GoalFor(const model::Inventory& node,
                 const std::vector<std::pair<std::size_t, const char*>>& wants) {
  NodeGoal goal;
  for (const auto& [gpu, text] : wants) {
    const WantedText wanted = WantedText::Parse(text).value();
    goal.push_back(
        {model::GpuIdentity::Of(node.gpus[gpu]), ResolveWanted(wanted, node.gpus[gpu]).value()});
  }
  return goal;
}

std::string Picture(const model::Inventory& node, const NodePlan& plan, const Look& look) {
  return ToString(DrawMigPlan(node, plan, look), look.colour);
}

// GPU 0 is held whole, 2 and 3 in some slices, 4 idle, 5 as wanted, 6 has an instance without
// compute instance, 7 is off.
struct Sample {
  model::Inventory node = model::testing::DgxA100Mixed().inventory;
  NodeGoal goal = GoalFor(node,
                          {{0, "1g.5gb:7"},
                           {2, "1g.5gb:5,1g.5gb+me,1c.1g.5gb"},
                           {3, "3g.20gb,2g.10gb:2"},
                           {4, "4g.20gb,3g.20gb"},
                           {5, "1c.7g.40gb:7"},
                           {6, "3g.20gb:2"},
                           {7, "off"}});
  NodePlan plan = service::mig::PlanNode(node, goal);
};

TEST(MigPlanPicture, LooksAsReviewed) {
  const Sample sample;
  golden::ExpectGolden("mig/plan-dgx.txt", Picture(sample.node, sample.plan, Look{}));
  golden::ExpectGolden(
      "mig/plan-dgx-ascii.txt",
      Picture(sample.node, sample.plan, Look{.width = 120, .colour = true, .utf8 = false}));
  golden::ExpectGolden("mig/plan-dgx.json",
                       base::ToJson(MigPlanDocument(sample.node, sample.plan)));
}

TEST(MigPlanPicture, SaysWhatWouldWorkInstead) {
  model::Inventory node;
  node.gpus.push_back(config::ProductGpu("A30").value());
  const NodePlan plan = service::mig::PlanNode(node, GoalFor(node, {{0, "4g.24gb,1g.6gb"}}));
  golden::ExpectGolden("mig/plan-impossible.txt", Picture(node, plan, Look{}));
  EXPECT_EQ(PlanStatus(plan), kExitInvalidInput);
}

TEST(MigPlanPicture, NeverExceedsTheWidth) {
  const Sample sample;
  for (int width = 60; width <= 140; ++width) {
    for (const Line& line : DrawMigPlan(sample.node, sample.plan, Look{.width = width})) {
      ASSERT_LE(line.width(), width) << line.ToString(false);
    }
  }
}

TEST(MigPlanPicture, HasAStatusForEveryOutcome) {
  Sample sample;
  EXPECT_EQ(PlanStatus(sample.plan), kExitBlocked);
  const NodeGoal possible = GoalFor(sample.node, {{4, "4g.20gb,3g.20gb"}});
  EXPECT_EQ(PlanStatus(service::mig::PlanNode(sample.node, possible)), kExitDone);
}

TEST(MigDiff, LooksAsReviewed) {
  const Sample sample;
  const std::vector<service::mig::GpuDifference> differences =
      service::mig::Differences(sample.node, sample.goal, false).value();
  golden::ExpectGolden("mig/diff-dgx.txt",
                       ToString(DrawMigDiff(sample.node, differences, Look{}), false));
  golden::ExpectGolden("mig/diff-dgx.json",
                       base::ToJson(MigDiffDocument(sample.node, differences)));
}

TEST(MigDiff, LeavesOutWhatIsAsWanted) {
  const Sample sample;
  EXPECT_TRUE(
      service::mig::Differences(sample.node, GoalFor(sample.node, {{5, "1c.7g.40gb:7"}}), false)
          ->empty());
  EXPECT_TRUE(
      service::mig::Differences(sample.node, GoalFor(sample.node, {{5, "none"}}), true)->empty());
  EXPECT_FALSE(
      service::mig::Differences(sample.node, GoalFor(sample.node, {{5, "off"}}), true)->empty());
}

TEST(WantedText, TakesEverySpelling) {
  const WantedText wanted = WantedText::Parse("1g.5gb:7,id:19,id:9/1c:2,1g*2").value();
  ASSERT_EQ(wanted.entries.size(), 4U);
  EXPECT_EQ(wanted.entries[0].count, 7U);
  EXPECT_EQ(wanted.entries[1].profile, "id:19");
  EXPECT_EQ(wanted.entries[1].count, 1U);
  EXPECT_EQ(wanted.entries[2].profile, "id:9/1c");
  EXPECT_EQ(wanted.entries[2].count, 2U);
  EXPECT_FALSE(WantedText::Parse("off")->enabled);
  EXPECT_TRUE(WantedText::Parse("none")->enabled);
}

TEST(WantedText, PointsAtWhatIsWrong) {
  EXPECT_EQ(WantedText::Parse("1g.5gb:7,,2g:x").error().message(),
            "--want:1:10: a profile is missing\n"
            "    1 | 1g.5gb:7,,2g:x\n"
            "      |          ^ write PROFILE:COUNT, as 1g.5gb:7; several with commas\n"
            "--want:1:14: \"x\" is no count\n"
            "    1 | 1g.5gb:7,,2g:x\n"
            "      |              ^ a whole number, as in 1g.5gb:7");
  const model::Gpu gpu = config::ProductGpu("H200").value();
  EXPECT_EQ(ResolveWanted(WantedText::Parse("2g.35gb,1g.20gb:2").value(), gpu).error().message(),
            "--want:1:9: NVIDIA H200: unknown MIG profile \"1g.20gb\"\n"
            "    1 | 2g.35gb,1g.20gb:2\n"
            "      |         ^^^^^^^ did you mean \"1g.18gb\"?");
}

}  // namespace
}  // namespace partita::cli
