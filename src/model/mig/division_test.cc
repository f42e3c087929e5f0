#include "model/mig/division.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "model/testing/mig_notation.h"
#include "model/testing/product_geometry.h"
#include "tests/support/share.h"

namespace partita::model {
namespace {

using testing::kA100;

// Compute instances of one GPU instance as (start, slices), by start.
using Computes = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// Every set that does not overlap and keeps to the driver's places and counts: by trying all.
class AllComputes {
 public:
  explicit AllComputes(std::vector<ComputeInstanceProfile> offered) : offered_(std::move(offered)) {
    Extend(0);
  }
  [[nodiscard]] const std::vector<Computes>& found() const { return found_; }

 private:
  void Extend(std::uint32_t from) {
    found_.push_back(computes_);
    for (const ComputeInstanceProfile& profile : offered_) {
      const auto same = std::count_if(computes_.begin(), computes_.end(), [&](const auto& c) {
        return c.second == profile.slice_count;
      });
      if (same >= static_cast<std::ptrdiff_t>(profile.instance_count)) continue;
      for (const Placement& place : profile.placements) {
        if (place.start < from) continue;
        computes_.emplace_back(place.start, place.size);
        Extend(place.start + place.size);
        computes_.pop_back();
      }
    }
  }

  std::vector<ComputeInstanceProfile> offered_;
  Computes computes_;
  std::vector<Computes> found_;
};

ComputeSizes SizesOf(const Computes& computes) {
  ComputeSizes sizes;
  for (const auto& [start, slices] : computes) sizes.push_back(slices);
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  return sizes;
}

LiveInstance MakeLive(const std::vector<ComputeInstanceProfile>& offered,
                      const Computes& computes,
                      std::uint32_t in_use) {
  LiveInstance live;
  live.id = GpuInstanceId(1);
  live.offered = offered;
  for (std::size_t i = 0; i < computes.size(); ++i) {
    live.compute.push_back({ComputeInstanceId(static_cast<std::uint32_t>(i)), computes[i].second,
                            (in_use >> i & 1U) != 0, computes[i].first});
  }
  return live;
}

using Cost = std::tuple<std::uint32_t, std::size_t>;  // in use gone, changed

Cost CostOf(const LiveInstance& live, const Computes& end) {
  std::uint32_t used = 0;
  std::size_t gone = 0;
  for (const LiveComputeInstance& compute : live.compute) {
    if (std::find(end.begin(), end.end(), std::pair(compute.start, compute.slices)) != end.end())
      continue;
    ++gone;
    used += compute.in_use ? 1 : 0;
  }
  return {used, gone + end.size() - (live.compute.size() - gone)};
}

// What the instance holds once the plan is carried out.
Computes Result(const KeptInstance& kept) {
  Computes end;
  for (const LiveComputeInstance& compute : kept.live.compute)
    if (std::find(kept.destroy.begin(), kept.destroy.end(), compute) == kept.destroy.end())
      end.emplace_back(compute.start, compute.slices);
  for (std::size_t i = 0; i < kept.create.size(); ++i)
    end.emplace_back(kept.starts.at(i), kept.create[i]);
  std::sort(end.begin(), end.end());
  return end;
}

// The GPU instances of an A100 and of an A30, by NVML's constant of their profile.
struct DivisionCase {
  const char* product;
  std::uint32_t constant;
};
class EveryDivision : public ::testing::TestWithParam<DivisionCase> {};

TEST_P(EveryDivision, EqualsTheBestOfAllFinalPlaces) {
  const std::vector<ComputeInstanceProfile> offered =
      testing::ProductComputeProfiles(GetParam().product, GetParam().constant);
  const std::vector<Computes> all = AllComputes(offered).found();
  std::map<ComputeSizes, std::vector<Computes>> wishes;
  for (const Computes& computes : all) wishes[SizesOf(computes)].push_back(computes);
  std::uint64_t seen = 0;
  for (const Computes& now : all) {
    for (std::uint32_t in_use = 0; in_use < 1U << now.size(); ++in_use) {
      if (seen++ % tests::Share() != 0) continue;
      const LiveInstance live = MakeLive(offered, now, in_use);
      for (const auto& [wanted, ends] : wishes) {
        std::optional<Cost> best;
        for (const Computes& end : ends) {
          const Cost cost = CostOf(live, end);
          if (!best || cost < *best) best = cost;
        }
        const std::optional<KeptInstance> kept = KeepCompute(live, wanted);
        ASSERT_TRUE(kept.has_value());
        const Computes end = Result(*kept);
        const std::string what =
            fmt::format("{} in use {:b}, wanted {}: {}", now, in_use, wanted, end);
        ASSERT_NE(std::find(all.begin(), all.end(), end), all.end()) << what;
        ASSERT_EQ(SizesOf(end), wanted) << what;
        ASSERT_EQ(CostOf(live, end), *best) << what;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Instances,
                         EveryDivision,
                         ::testing::Values(DivisionCase{kA100, 1},
                                           DivisionCase{kA100, 2},
                                           DivisionCase{kA100, 3},
                                           DivisionCase{kA100, 4},
                                           DivisionCase{"A30", 1},
                                           DivisionCase{"A30", 3}));

TEST(KeepCompute, MovesWhatIsIdleOutOfTheWay) {
  const auto offered = testing::ProductComputeProfiles(kA100, 4);
  // 2c starts at 0, 2 or 4: 1c@1 and 1c@5 leave room for one alone.
  const LiveInstance live = MakeLive(offered, {{1, 1}, {5, 1}}, 0b10);
  const std::optional<KeptInstance> kept = KeepCompute(live, {2, 2, 1, 1});
  ASSERT_TRUE(kept.has_value());
  ASSERT_EQ(kept->destroy.size(), 1U);
  EXPECT_EQ(kept->destroy[0].start, 1U);
  EXPECT_EQ(kept->create, (ComputeSizes{2, 2, 1}));
  EXPECT_EQ(kept->starts, (std::vector<std::uint32_t>{0, 2, 4}));
}

TEST(KeepCompute, GivesUpWhatIsInUseOnlyWhereNothingElseFits) {
  const auto offered = testing::ProductComputeProfiles(kA100, 4);
  const LiveInstance live = MakeLive(offered, {{1, 1}, {3, 1}}, 0b11);
  const std::optional<KeptInstance> kept = KeepCompute(live, {2, 2, 1, 1});
  ASSERT_TRUE(kept.has_value());
  ASSERT_EQ(kept->destroy.size(), 1U);
  EXPECT_TRUE(kept->destroy[0].in_use);
}

TEST(KeepCompute, OfEqualsKeepsTheFirst) {
  const auto offered = testing::ProductComputeProfiles(kA100, 2);
  const LiveInstance live = MakeLive(offered, {{0, 1}, {1, 1}, {2, 1}}, 0);
  const std::optional<KeptInstance> kept = KeepCompute(live, {1, 1});
  ASSERT_TRUE(kept.has_value());
  ASSERT_EQ(kept->destroy.size(), 1U);
  EXPECT_EQ(kept->destroy[0].start, 2U);
}

TEST(KeepCompute, KeepsWhatIsInUseAlsoWherePlacesAreNotKnown) {
  const LiveInstance live = MakeLive({}, {{0, 1}, {1, 1}}, 0b10);
  const std::optional<KeptInstance> kept = KeepCompute(live, {1});
  ASSERT_TRUE(kept.has_value());
  ASSERT_EQ(kept->destroy.size(), 1U);
  EXPECT_FALSE(kept->destroy[0].in_use);
}

TEST(KeepCompute, CountsSlicesWherePlacesAreNotKnown) {
  LiveInstance live = MakeLive({}, {{1, 1}, {5, 1}}, 0b10);
  const std::optional<KeptInstance> kept = KeepCompute(live, {2, 2, 1, 1});
  ASSERT_TRUE(kept.has_value());
  EXPECT_TRUE(kept->destroy.empty());
  EXPECT_EQ(kept->create, (ComputeSizes{2, 2}));
  EXPECT_TRUE(kept->starts.empty());
}

TEST(KeepCompute, RefusesADivisionThatHasNoPlaces) {
  const auto offered = testing::ProductComputeProfiles(kA100, 2);  // 3g: one place for 2c
  EXPECT_EQ(KeepCompute(MakeLive(offered, {}, 0), {2, 2}), std::nullopt);
  EXPECT_EQ(KeepCompute(MakeLive(offered, {}, 0), {5}), std::nullopt);
}

// The driver would put 3c at 0, between the places of 2c, and leave none for the second.
TEST(PlaceCompute, LooksAhead) {
  const auto offered = testing::ProductComputeProfiles(kA100, 4);
  EXPECT_EQ(PlaceCompute(offered, {}, {3, 2, 2}), (std::vector<std::uint32_t>{4, 0, 2}));
  EXPECT_EQ(PlaceCompute(offered, {}, {3, 3, 2}), std::nullopt);
  EXPECT_EQ(PlaceCompute({}, {}, {1}), std::nullopt);
}

}  // namespace
}  // namespace partita::model
