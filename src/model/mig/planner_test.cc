#include "model/mig/planner.h"

#include <gtest/gtest.h>

#include "model/testing/mig_notation.h"
#include "model/testing/product_geometry.h"

namespace partita::model {
namespace {

using testing::kA100;
using testing::Live;
using testing::ProductGeometry;
using testing::ToText;
using testing::Wanted;

const MigPlanner& PlannerOf(const std::string& product) {
  static std::map<std::string, MigPlanner> planners;
  return planners.try_emplace(product, ProductGeometry(product)).first->second;
}

std::variant<LayoutPlan, NoLayout> PlanOf(const std::string& product,
                                          std::string_view live,
                                          std::string_view wanted) {
  const MigPlanner& planner = PlannerOf(product);
  return planner.Plan(Live(planner.geometry(), live), Wanted(planner.geometry(), wanted));
}

struct PlanCase {
  const char* name;
  const char* product;
  const char* live;
  const char* wanted;
  const char* plan;
};

void Check(const std::vector<PlanCase>& cases) {
  for (const PlanCase& c : cases) {
    EXPECT_EQ(ToText(PlannerOf(c.product).geometry(), PlanOf(c.product, c.live, c.wanted)), c.plan)
        << c.name;
  }
}

TEST(Plan, PlacesInstancesOnAnEmptyGpu) {
  Check({
      {"a mix that drivers refuse in the wrong order", kA100, "", "2 x 1g.5gb, 2g.10gb, 3g.20gb",
       "+2g.10gb@0 +1g.5gb@2 +1g.5gb@3 +3g.20gb@4"},
      {"3g leaves slice 0 to 4g", kA100, "", "4g.20gb, 3g.20gb", "+4g.20gb@0 +3g.20gb@4"},
      {"only double memory reaches the last slice", kA100, "", "6 x 1g.5gb, 1g.10gb",
       "+1g.5gb@0 +1g.5gb@1 +1g.5gb@2 +1g.5gb@3 +1g.5gb@4 +1g.5gb@5 +1g.10gb@6"},
      {"media engines", kA100, "", "1g.5gb+me, 6 x 1g.5gb",
       "+1g.5gb@0 +1g.5gb@1 +1g.5gb@2 +1g.5gb+me@3 +1g.5gb@4 +1g.5gb@5 +1g.5gb@6"},
      {"half and quarters of an A30", "A30", "", "2g.12gb, 2 x 1g.6gb",
       "+2g.12gb@0 +1g.6gb@2 +1g.6gb@3"},
      {"quarters of an A30", "A30", "", "4 x 1g.6gb", "+1g.6gb@0 +1g.6gb@1 +1g.6gb@2 +1g.6gb@3"},
      {"all media engines beside none", "RTX-PRO-6000", "", "1g.24gb+me.all, 3 x 1g.24gb-me",
       "+1g.24gb-me@0 +1g.24gb-me@3 +1g.24gb-me@6 +1g.24gb+me.all@9"},
      {"nothing", kA100, "", "", ""},
  });
}

TEST(Plan, LeavesTheMostRoomForLargeProfiles) {
  Check({
      {"1g", kA100, "", "1g.5gb", "+1g.5gb@6"},
      {"second 1g", kA100, "1g.5gb@6", "2 x 1g.5gb", "=1g.5gb@6 +1g.5gb@4"},
      {"2g", kA100, "", "2g.10gb", "+2g.10gb@4"},
      {"3g", kA100, "", "3g.20gb", "+3g.20gb@4"},
      {"double 1g", kA100, "", "1g.10gb", "+1g.10gb@6"},
      {"1g after 3g", kA100, "3g.20gb@4", "3g.20gb, 1g.5gb", "=3g.20gb@4 +1g.5gb@0"},
      {"2g after two 1g", kA100, "1g.5gb@6 1g.5gb@4", "2 x 1g.5gb, 2g.10gb",
       "=1g.5gb@4 =1g.5gb@6 +2g.10gb@0"},
  });
}

TEST(Plan, SaysWhichRuleForbidsARequest) {
  struct Refused {
    const char* product;
    const char* wanted;
    LayoutRule rule;
    const char* text;
    std::vector<std::string> nearest;
  };
  const std::vector<Refused> cases = {
      {kA100,
       "4 x 1g.10gb, 3 x 1g.5gb",
       LayoutRule::kOverlap,
       "4 x 1g.10gb, 3 x 1g.5gb take 11 memory slices, and the GPU has 8",
       {"3 x 1g.10gb, 2 x 1g.5gb", "2 x 1g.10gb, 3 x 1g.5gb", "4 x 1g.10gb"}},
      {kA100,
       "2 x 3g.20gb, 1g.5gb",
       LayoutRule::kOverlap,
       "2 x 3g.20gb, 1g.5gb take 9 memory slices, and the GPU has 8",
       {"2 x 3g.20gb", "3g.20gb, 1g.5gb", "3g.20gb, 1g.10gb, 1g.5gb"}},
      {kA100,
       "2 x 1g.5gb+me",
       LayoutRule::kCount,
       "2 of 1g.5gb+me are wanted, and a GPU holds at most 1",
       {"1g.5gb+me", "1g.10gb, 1g.5gb+me", "1g.5gb, 1g.5gb+me"}},
      {kA100,
       "4g.20gb, 2 x 2g.10gb",
       LayoutRule::kPlacement,
       "4g.20gb, 2 x 2g.10gb cannot be placed side by side: 4g.20gb starts at 0; 2g.10gb at 0, 2 "
       "or 4",
       {}},
      {"RTX-PRO-6000",
       "1g.24gb+me.all, 1g.24gb",
       LayoutRule::kEngines,
       "1g.24gb, 1g.24gb+me.all take 5 decoders of 4, 5 encoders of 4, 5 JPEG engines of 4",
       {}},
      {"A30",
       "4g.24gb, 1g.6gb",
       LayoutRule::kOverlap,
       "4g.24gb, 1g.6gb take 5 memory slices, and the GPU has 4",
       {"4g.24gb", "1g.6gb", "2 x 1g.6gb"}},
      {kA100,
       "4000000000 x 1c.3g.20gb",
       LayoutRule::kCount,
       "1333333334 of 3g.20gb are wanted, and a GPU holds at most 2",
       {}},
      {kA100,
       "2 x 1c.7g.40gb, 6 x 1c.7g.40gb",
       LayoutRule::kCount,
       "2 of 7g.40gb are wanted, and a GPU holds at most 1",
       {}},
  };
  for (const Refused& c : cases) {
    const auto answer = PlanOf(c.product, "", c.wanted);
    const auto* none = std::get_if<NoLayout>(&answer);
    ASSERT_NE(none, nullptr) << c.wanted;
    EXPECT_EQ(none->rule, c.rule) << c.wanted;
    EXPECT_EQ(none->text, c.text);
    EXPECT_EQ(none->nearest.size(), 3U);
    std::vector<std::string> nearest;
    for (const ProfileCounts& counts : none->nearest)
      nearest.push_back(ToString(PlannerOf(c.product).geometry(), counts));
    if (!c.nearest.empty()) {
      EXPECT_EQ(nearest, c.nearest) << c.wanted;
    }
  }
}

TEST(Plan, KeepsWhatMatches) {
  Check({
      {"busy neighbours are not touched", kA100, "2g.10gb@4* 1g.5gb@6* 3g.20gb@0",
       "2g.10gb, 5 x 1g.5gb",
       "=2g.10gb@4 =1g.5gb@6 -3g.20gb@0 +1g.5gb@0 +1g.5gb@1 +1g.5gb@2 +1g.5gb@3"},
      {"room beside busy ones", kA100, "1g.5gb@0* 1g.5gb@3*", "2 x 1g.5gb, 3g.20gb",
       "=1g.5gb@0 =1g.5gb@3 +3g.20gb@4"},
      {"an idle one moves out of the way", kA100, "1g.5gb@0 1g.5gb@4*", "3g.20gb, 2 x 1g.5gb",
       "=1g.5gb@4 -1g.5gb@0 +3g.20gb@0 +1g.5gb@5"},
      {"the same devices at other places", kA100, "1g.5gb@0 1g.5gb@5 2g.10gb@2",
       "2g.10gb, 2 x 1g.5gb", "=1g.5gb@0 =2g.10gb@2 =1g.5gb@5"},
      {"another spelling of the same", kA100, "1g.5gb@3", "1c.1g.5gb", "=1g.5gb@3"},
      {"a count of zero asks for nothing", kA100, "1g.5gb@3", "1g.5gb, 0 x 3g.20gb", "=1g.5gb@3"},
      {"the idle one of two goes", kA100, "1g.5gb@6 1g.5gb@0*", "1g.5gb", "=1g.5gb@0 -1g.5gb@6"},
      {"a pinned one stays", kA100, "1g.5gb@6 1g.5gb@0!", "1g.5gb", "=1g.5gb@0 -1g.5gb@6"},
      {"the order of what exists does not matter", kA100, "1g.5gb@6 1g.5gb@0", "1g.5gb",
       "=1g.5gb@6 -1g.5gb@0"},
      {"everything goes", kA100, "3g.20gb@4 1g.5gb@0", "", "-1g.5gb@0 -3g.20gb@4"},
  });
}

TEST(Plan, RemovesOrUsesGpuInstancesWithoutComputeInstances) {
  Check({
      {"in the way of a large one", kA100, "1g.5gb@0[]", "7g.40gb", "-1g.5gb@0 +7g.40gb@0"},
      {"of use", kA100, "1g.5gb@0[]", "1g.5gb", "=1g.5gb@0[+1]"},
      {"left over", kA100, "1g.5gb@0[] 1g.5gb@6", "1g.5gb", "=1g.5gb@6 -1g.5gb@0"},
  });
}

TEST(Plan, PacksComputeInstancesIntoFewGpuInstances) {
  Check({
      {"one GPU instance", kA100, "", "3 x 1c.3g.20gb", "+3g.20gb@4[1,1,1]"},
      {"the first is filled", kA100, "", "4 x 1c.3g.20gb", "+3g.20gb@0[1,1,1] +3g.20gb@4[1]"},
      {"different sizes", kA100, "", "2c.3g.20gb, 1c.3g.20gb, 3g.20gb",
       "+3g.20gb@0 +3g.20gb@4[2,1]"},
      {"seven in one", kA100, "", "7 x 1c.7g.40gb", "+7g.40gb@0[1,1,1,1,1,1,1]"},
      {"beside others", kA100, "", "2 x 2c.4g.20gb, 3 x 1g.5gb",
       "+4g.20gb@0[2,2] +1g.5gb@4 +1g.5gb@5 +1g.5gb@6"},
  });
}

TEST(Plan, ChangesComputeInstancesInPlace) {
  Check({
      {"one more", kA100, "3g.20gb@0[1*]", "3 x 1c.3g.20gb", "=3g.20gb@0[+1 +1]"},
      {"the idle one goes", kA100, "3g.20gb@4[1,1*,1]", "2 x 1c.3g.20gb", "=3g.20gb@4[-1]"},
      {"a whole one divided", kA100, "3g.20gb@4", "2c.3g.20gb, 1c.3g.20gb", "=3g.20gb@4[-3 +2 +1]"},
      {"a new instance rather than one in use", kA100, "3g.20gb@4*", "3g.20gb, 1c.3g.20gb",
       "=3g.20gb@4 +3g.20gb@0[1]"},
      {"the better place, in whichever order it is found", kA100, "2g.10gb@2",
       "2g.10gb, 1c.2g.10gb", "=2g.10gb@2 +2g.10gb@0[1]"},
      {"each keeps its own", kA100, "3g.20gb@0[1*,1*] 3g.20gb@4[2*]", "2 x 1c.3g.20gb, 2c.3g.20gb",
       "=3g.20gb@0 =3g.20gb@4"},
  });
}

TEST(Plan, NamesEveryInstanceThatStandsInTheWay) {
  const auto answer = PlanOf(kA100, "1g.5gb@0* 1g.5gb@4* 1g.5gb@6", "3 x 1g.5gb, 3g.20gb");
  const auto& plan = std::get<LayoutPlan>(answer);
  EXPECT_EQ(plan.cost.in_use_destroyed, 1U);
  ASSERT_EQ(plan.obstacles.size(), 2U);
  const MigGeometry& geometry = PlannerOf(kA100).geometry();
  EXPECT_EQ(ToString(geometry, plan.obstacles[0].place), "1g.5gb@0");
  EXPECT_EQ(plan.obstacles[0].compute, std::vector{ComputeInstanceId(0)});
  EXPECT_EQ(ToString(geometry, plan.obstacles[1].place), "1g.5gb@4");
}

TEST(Plan, NamesOnlyTheComputeInstancesInTheWay) {
  const auto answer = PlanOf(kA100, "3g.20gb@4[1*,1*,1]", "1c.3g.20gb");
  const auto& plan = std::get<LayoutPlan>(answer);
  EXPECT_EQ(plan.cost.in_use_destroyed, 1U);
  EXPECT_EQ(plan.cost.compute_changed, 2U);
  ASSERT_EQ(plan.obstacles.size(), 1U);
  EXPECT_EQ(plan.obstacles[0].compute, (std::vector{ComputeInstanceId(1)}));
}

TEST(Plan, APinnedInstanceWithoutWorkIsInTheWayToo) {
  const auto answer = PlanOf(kA100, "1g.5gb@0!", "7g.40gb");
  const auto& plan = std::get<LayoutPlan>(answer);
  EXPECT_EQ(plan.cost.in_use_destroyed, 1U);
  ASSERT_EQ(plan.obstacles.size(), 1U);
  EXPECT_TRUE(plan.obstacles[0].compute.empty());
}

TEST(Plan, CountsWhatItCosts) {
  const auto answer = PlanOf(kA100, "3g.20gb@0[1] 1g.5gb@5 1g.5gb@6*", "3g.20gb, 2g.10gb, 1g.5gb");
  const MigGeometry& geometry = PlannerOf(kA100).geometry();
  EXPECT_EQ(ToText(geometry, answer), "=3g.20gb@0[-1 +3] =1g.5gb@6 -1g.5gb@5 +2g.10gb@4");
  const PlanCost& cost = std::get<LayoutPlan>(answer).cost;
  EXPECT_EQ(cost.in_use_destroyed, 0U);
  EXPECT_EQ(cost.idle_destroyed, 1U);
  EXPECT_EQ(cost.created, 1U);
  EXPECT_EQ(cost.compute_changed, 2U);
  EXPECT_EQ(cost.room, (ProfileCounts(7, 0)));
}

TEST(NearestAround, OffersWhatFitsBesideTheWorkThatRuns) {
  const MigPlanner& planner = PlannerOf(kA100);
  const MigGeometry& geometry = planner.geometry();
  std::vector<std::string> nearest;
  for (const ProfileCounts& counts :
       planner.NearestAround(Live(geometry, "1g.5gb@0* 1g.5gb@4* 2g.10gb@2"),
                             Wanted(geometry, "2 x 1g.5gb, 3g.20gb")))
    nearest.push_back(ToString(geometry, counts));
  EXPECT_EQ(nearest, (std::vector<std::string>{"2 x 1g.5gb", "1g.10gb, 2 x 1g.5gb", "3 x 1g.5gb"}));
}

TEST(Plan, KeepsALayoutThatItsRulesWouldNotAllow) {
  Gpu gpu = testing::GpuWith("RTX-PRO-6000", "1g.24gb+me.all@0 1g.24gb@3 1g.24gb@6");
  const MigPlanner planner(MigGeometry::From(*gpu.mig));
  const auto plan = planner.Plan(Live(planner.geometry(), "1g.24gb+me.all@0 1g.24gb@3* 1g.24gb@6"),
                                 Wanted(planner.geometry(), "1g.24gb+me.all, 1g.24gb"));
  EXPECT_EQ(ToText(planner.geometry(), plan), "=1g.24gb+me.all@0 =1g.24gb@3 -1g.24gb@6");
}

}  // namespace
}  // namespace partita::model
