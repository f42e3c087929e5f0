#include "cli/mig/plan.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/value.h"
#include "cli/exit_status.h"
#include "cli/mig/compare.h"
#include "cli/mig/draw_plan.h"
#include "cli/mig/plan_document.h"
#include "config/products.h"
#include "model/testing/sample_inventories.h"
#include "service/mig/wanted_text.h"
#include "tests/golden/golden.h"
#include "tests/support/share.h"

namespace partita::cli {
namespace {

using service::mig::NodeGoal;
using service::mig::NodePlan;
using service::mig::WantedText;

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

std::string PlanPicture(const model::Inventory& node, const NodePlan& plan, const Look& look) {
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
  golden::ExpectGolden("mig/plan-dgx.txt", PlanPicture(sample.node, sample.plan, Look{}));
  golden::ExpectGolden(
      "mig/plan-dgx-ascii.txt",
      PlanPicture(sample.node, sample.plan, Look{.width = 120, .colour = true, .utf8 = false}));
  golden::ExpectGolden("mig/plan-dgx.json",
                       base::ToJson(MigPlanDocument(sample.node, sample.plan)));
}

TEST(MigPlanPicture, SaysWhatWouldWorkInstead) {
  model::Inventory node;
  node.gpus.push_back(config::ProductGpu("A30").value());
  const NodePlan plan = service::mig::PlanNode(node, GoalFor(node, {{0, "4g.24gb,1g.6gb"}}));
  golden::ExpectGolden("mig/plan-impossible.txt", PlanPicture(node, plan, Look{}));
  EXPECT_EQ(PlanStatus(plan), kExitInvalidInput);
}

TEST(MigPlanPicture, NeverExceedsTheWidth) {
  const Sample sample;
  for (int width = 60; width <= 140; width += static_cast<int>(tests::Share())) {
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

}  // namespace
}  // namespace partita::cli
