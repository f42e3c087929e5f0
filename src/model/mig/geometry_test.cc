#include "model/mig/geometry.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "model/mig/planner.h"
#include "model/testing/mig_notation.h"
#include "model/testing/product_geometry.h"

namespace partita::model {
namespace {

using testing::ProductGeometry;

// NVML's constants of the profiles that every driver for MIG has offered on an A100.
const std::vector<std::uint32_t> kBase = {0, 1, 2, 3, 4};
const std::vector<std::uint32_t> kWithDouble = {0, 1, 2, 3, 4, 9};
const std::vector<std::uint32_t> kWithMedia = {0, 1, 2, 3, 4, 7, 9};

MigLayout Layout(const MigGeometry& geometry, std::string_view text) {
  MigLayout layout;
  for (const LiveInstance& instance : testing::Live(geometry, text))
    layout.push_back(instance.place);
  return layout;
}

bool Contains(const ProfileCounts& larger, const ProfileCounts& smaller) {
  return std::equal(larger.begin(), larger.end(), smaller.begin(),
                    [](std::uint32_t a, std::uint32_t b) { return a >= b; });
}

// Sets of instances that are part of no larger possible set.
std::vector<ProfileCounts> MaximalCounts(const std::vector<ProfileCounts>& all) {
  std::vector<ProfileCounts> maximal;
  for (const ProfileCounts& counts : all) {
    if (std::none_of(all.begin(), all.end(), [&](const ProfileCounts& other) {
          return other != counts && Contains(other, counts);
        }))
      maximal.push_back(counts);
  }
  return maximal;
}

struct Numbers {
  const char* name;
  MigGeometry geometry;
  std::size_t layouts, maximal, sets, sets_of_maximal, maximal_sets;
};

TEST(MigGeometry, CountsTheLayoutsOfEveryFamily) {
  const std::vector<Numbers> families = {
      {"A100, oldest profiles", ProductGeometry("A100-SXM4-40GB", kBase), 298, 19, 38, 14, 12},
      {"A100, with double memory", ProductGeometry("A100-SXM4-40GB", kWithDouble), 723, 78, 78, 38,
       28},
      {"A100, with media", ProductGeometry("A100-SXM4-40GB", kWithMedia), 2319, 239, 128, 64, 44},
      {"A100-80", ProductGeometry("A100-SXM4-80GB"), 2319, 239, 128, 64, 44},
      {"H100", ProductGeometry("H100-80GB-HBM3"), 2319, 239, 128, 64, 44},
      {"H200", ProductGeometry("H200"), 2319, 239, 128, 64, 44},
      {"A30, oldest profiles", ProductGeometry("A30", {0, 1, 3}), 26, 5, 10, 4, 4},
  };
  for (const Numbers& family : families) {
    SCOPED_TRACE(family.name);
    const std::vector<MigLayout> all = AllLayouts(family.geometry);
    const std::vector<MigLayout> maximal = MaximalLayouts(family.geometry);
    const std::vector<ProfileCounts> sets = DistinctCounts(family.geometry, all);
    EXPECT_EQ(all.size(), family.layouts);
    EXPECT_EQ(maximal.size(), family.maximal);
    EXPECT_EQ(sets.size(), family.sets);
    EXPECT_EQ(DistinctCounts(family.geometry, maximal).size(), family.sets_of_maximal);
    EXPECT_EQ(MaximalCounts(sets).size(), family.maximal_sets);
  }
}

TEST(MigGeometry, NoLayoutHasMoreOfAProfileThanItsCount) {
  MigGeometry geometry = ProductGeometry("A100-SXM4-40GB", kBase);
  const std::size_t small = LargestFirst(geometry).back();
  geometry.profiles[small].instance_count = 2;
  std::size_t most = 0;
  for (const MigLayout& layout : AllLayouts(geometry)) {
    const auto is_small = [&](const PlacedInstance& each) { return each.profile == small; };
    const auto count = std::count_if(layout.begin(), layout.end(), is_small);
    most = std::max(most, static_cast<std::size_t>(count));
  }
  EXPECT_EQ(most, 2U) << "though there are seven places";
}

TEST(MigGeometry, NamesTheTwelveFullDivisionsOfAnA100) {
  const MigGeometry geometry = ProductGeometry("A100-SXM4-40GB", kBase);
  std::vector<std::string> names;
  for (const ProfileCounts& counts : MaximalCounts(DistinctCounts(geometry, AllLayouts(geometry))))
    names.push_back(ToString(geometry, counts));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "2 x 2g.10gb, 3 x 1g.5gb", "2 x 3g.20gb", "2g.10gb, 5 x 1g.5gb",
                "3 x 2g.10gb, 1g.5gb", "3g.20gb, 2 x 2g.10gb", "3g.20gb, 2g.10gb, 2 x 1g.5gb",
                "3g.20gb, 4 x 1g.5gb", "4g.20gb, 2g.10gb, 1g.5gb", "4g.20gb, 3 x 1g.5gb",
                "4g.20gb, 3g.20gb", "7 x 1g.5gb", "7g.40gb"}));
}

TEST(MigGeometry, EveryLayoutIsLegalAndListedOnce) {
  for (const char* product : {"A100-SXM4-40GB", "A30", "H200", "RTX-PRO-6000"}) {
    const MigGeometry geometry = ProductGeometry(product);
    std::vector<MigLayout> layouts = AllLayouts(geometry);
    for (const MigLayout& layout : layouts)
      EXPECT_FALSE(CheckLayout(geometry, layout).has_value()) << product;
    std::sort(layouts.begin(), layouts.end());
    EXPECT_EQ(std::adjacent_find(layouts.begin(), layouts.end()), layouts.end()) << product;
  }
}

TEST(MigGeometry, PrefersThePlacesThatDriversFillFirst) {
  for (const char* product : {"A100-SXM4-40GB", "H200"}) {
    for (const std::vector<std::uint32_t>& constants : {kWithDouble, kWithMedia}) {
      const MigGeometry geometry = ProductGeometry(product, constants);
      const auto starts = [&](const char* form) {
        const std::size_t profile = testing::Wanted(geometry, form).begin()->first.profile;
        std::vector<std::uint32_t> order;
        for (std::size_t place : PreferredPlacements(geometry, profile))
          order.push_back(geometry.profiles[profile].placements[place].start);
        return order;
      };
      using Starts = std::vector<std::uint32_t>;
      EXPECT_EQ(starts("1g"), (Starts{6, 4, 5, 0, 1, 2, 3})) << product;
      EXPECT_EQ(starts("2g"), (Starts{4, 0, 2})) << product;
      EXPECT_EQ(starts("3g"), (Starts{4, 0})) << product;
      EXPECT_EQ(starts("1g*2"), (Starts{6, 4, 0, 2})) << product;
      EXPECT_EQ(starts("4g"), (Starts{0})) << product;
    }
  }
}

TEST(MigGeometry, RemainingRoomCountsEachProfileAlone) {
  const MigGeometry geometry = ProductGeometry("A100-SXM4-40GB");
  EXPECT_EQ(ToString(geometry, RemainingRoom(geometry, {})),
            "7g.40gb, 4g.20gb, 2 x 3g.20gb, 3 x 2g.10gb, 4 x 1g.10gb, 7 x 1g.5gb, 1g.5gb+me");
  EXPECT_EQ(ToString(geometry, RemainingRoom(geometry, Layout(geometry, "3g.20gb@0"))),
            "3g.20gb, 2g.10gb, 2 x 1g.10gb, 3 x 1g.5gb, 1g.5gb+me");
  EXPECT_EQ(ToString(geometry, RemainingRoom(geometry, Layout(geometry, "7g.40gb@0"))), "nothing");
}

TEST(CheckLayout, NamesTheRuleThatIsBroken) {
  struct Case {
    const char* product;
    const char* layout;
    LayoutRule rule;
    const char* text;
  };
  const std::vector<Case> cases = {
      {"A100-SXM4-40GB", "2g.10gb@6", LayoutRule::kPlacement,
       "2g.10gb cannot start at memory slice 6, only at 0, 2 or 4"},
      {"A100-SXM4-40GB", "3g.20gb@0 4g.20gb@0", LayoutRule::kOverlap,
       "3g.20gb@0 and 4g.20gb@0 share memory slices"},
      {"A100-SXM4-40GB", "1g.5gb+me@0 1g.5gb+me@1", LayoutRule::kCount,
       "at most 1 of 1g.5gb+me can exist on this GPU"},
      {"RTX-PRO-6000", "1g.24gb+me.all@0 1g.24gb@3", LayoutRule::kEngines,
       "1g.24gb@3 brings the decoders to 5, and the GPU has 4"},
  };
  for (const Case& broken : cases) {
    const MigGeometry geometry = ProductGeometry(broken.product);
    const auto violation = CheckLayout(geometry, Layout(geometry, broken.layout));
    ASSERT_TRUE(violation.has_value()) << broken.layout;
    EXPECT_EQ(violation->rule, broken.rule) << broken.layout;
    EXPECT_EQ(violation->text, broken.text);
  }
}

TEST(MigGeometry, TakesWhatExistsForPossible) {
  Gpu gpu = testing::GpuWith("A30", "1g.6gb@0 1g.6gb@1");
  // As if this driver knew less than the one that made them.
  std::erase_if(gpu.mig->profiles, [](const GpuInstanceProfile& p) { return p.slice_count == 1; });
  GpuInstanceProfile& half = gpu.mig->profiles.front();
  EXPECT_EQ(half.name, "2g.12gb");
  half.placements = {{0, 2}};
  GpuInstance odd;
  odd.id = GpuInstanceId(9);
  odd.profile = half.id;
  odd.profile_name = half.name;
  odd.placement = {2, 2};
  gpu.mig->instances.push_back(odd);

  const MigGeometry geometry = MigGeometry::From(*gpu.mig);
  const MigLayout layout = Layout(geometry, "1g.6gb@0 1g.6gb@1 2g.12gb@2");
  EXPECT_FALSE(CheckLayout(geometry, layout).has_value());
  EXPECT_EQ(geometry.profiles.back().name, "1g.6gb");
  EXPECT_EQ(geometry.profiles.back().slice_count, 1U);
  EXPECT_EQ(geometry.profiles.back().instance_count, 2U);
}

TEST(MigGeometry, IsTheSameForEveryGpuOfAKind) {
  Gpu busy = testing::GpuWith("H200", "3g.71gb@4 1g.18gb@0*");
  for (GpuInstanceProfile& profile : busy.mig->profiles) profile.remaining = 1;
  EXPECT_EQ(MigGeometry::From(*busy.mig), ProductGeometry("H200"));
}

TEST(MigGeometry, LeavesOutPlacementsThatNoMaskHolds) {
  std::vector<GpuInstanceProfile> profiles = ProductGeometry("A30", {0}).profiles;
  profiles[0].placements = {{0, 0}, {63, 2}, {4294967295U, 1}, {63, 1}, {2, 1}};
  const MigGeometry geometry = MigGeometry::Of(profiles);
  EXPECT_EQ(geometry.profiles[0].placements, (std::vector<Placement>{{2, 1}, {63, 1}}));
  EXPECT_EQ(geometry.memory_slices, 64U);
}

// Of one width and as many compute slices: more memory, fewer media engines, lower id.
TEST(LargestFirst, TellsAlikeProfilesApart) {
  const GpuInstanceProfile alike = ProductGeometry("A100-SXM4-40GB", kBase).profiles.front();
  std::vector<GpuInstanceProfile> profiles(4, alike);
  profiles[0].id = ProfileId(3);
  profiles[1].id = ProfileId(2);
  profiles[2].id = ProfileId(9);
  profiles[2].memory = Mebibytes(alike.memory.value() + 1);
  profiles[3].id = ProfileId(1);
  profiles[3].decoders = alike.decoders + 1;
  EXPECT_EQ(LargestFirst(MigGeometry::Of(profiles)), (std::vector<std::size_t>{2, 1, 0, 3}));
}

}  // namespace
}  // namespace partita::model
