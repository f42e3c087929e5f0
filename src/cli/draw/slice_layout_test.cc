#include "cli/draw/slice_layout.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace partita::cli {
namespace {

using model::GpuInstance;
using model::GpuInstanceId;
using model::GpuInstanceProfile;
using model::Mig;
using model::Placement;
using model::ProfileId;

GpuInstanceProfile Profile(std::uint32_t id,
                           std::uint32_t slices,
                           std::uint32_t count,
                           std::vector<Placement> placements) {
  GpuInstanceProfile profile;
  profile.id = ProfileId(id);
  profile.slice_count = slices;
  profile.instance_count = count;
  profile.placements = std::move(placements);
  return profile;
}

// Eight memory slices, seven compute slices: 1g anywhere but at 7, 3g at both halves.
Mig EightSlices() {
  Mig mig;
  mig.enabled = true;
  mig.memory_slices = 8;
  mig.profiles = {
      Profile(19, 1, 7, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}),
      Profile(9, 3, 2, {{0, 4}, {4, 4}}),
      Profile(0, 7, 1, {{0, 8}}),
  };
  return mig;
}

void Add(Mig& mig, std::uint32_t profile, Placement placement) {
  GpuInstance instance;
  instance.id = GpuInstanceId(static_cast<std::uint32_t>(mig.instances.size()));
  instance.profile = ProfileId(profile);
  instance.placement = placement;
  mig.instances.push_back(instance);
}

// "G4 . ! .": an instance of four slices, a free slice, a stranded one, a free one.
std::string Shape(const SliceLayout& layout) {
  std::string shape;
  for (const SlicePiece& piece : layout.pieces) {
    if (!shape.empty()) shape += ' ';
    switch (piece.kind) {
      case PieceKind::kInstance: shape += fmt::format("G{}", piece.placement.size); break;
      case PieceKind::kFree: shape += '.'; break;
      case PieceKind::kStranded: shape += '!'; break;
    }
  }
  return shape;
}

TEST(LayOutSlices, ShowsEverySliceOfAnEmptyGpuAsFree) {
  EXPECT_EQ(Shape(LayOutSlices(EightSlices())), ". . . . . . . .");
}

TEST(LayOutSlices, OrdersInstancesByPlaceAndFillsTheGaps) {
  Mig mig = EightSlices();
  Add(mig, 9, {4, 4});
  Add(mig, 19, {1, 1});
  EXPECT_EQ(Shape(LayOutSlices(mig)), ". G1 . . G4");
}

TEST(LayOutSlices, SaysThatTheLastSliceIsStrandedBesideSevenSmallOnes) {
  Mig mig = EightSlices();
  for (std::uint32_t s = 0; s < 7; ++s) Add(mig, 19, {s, 1});
  EXPECT_EQ(Shape(LayOutSlices(mig)), "G1 G1 G1 G1 G1 G1 G1 !");
}

TEST(LayOutSlices, BelievesTheDriverAboutWhatCanStillBeMade) {
  Mig mig = EightSlices();
  Add(mig, 9, {0, 4});
  EXPECT_EQ(Shape(LayOutSlices(mig)), "G4 . . . .");
  for (GpuInstanceProfile& profile : mig.profiles) profile.remaining = 0;
  EXPECT_EQ(Shape(LayOutSlices(mig)), "G4 ! ! ! !");
}

TEST(LayOutSlices, CountsComputeSlicesWhenTheDriverSaysNothing) {
  Mig mig = EightSlices();
  mig.profiles[2].placements.push_back({0, 4});  // seven compute slices on half of the memory
  Add(mig, 0, {0, 4});
  EXPECT_EQ(Shape(LayOutSlices(mig)), "G4 ! ! ! !");
}

TEST(LayOutSlices, TakesTheSliceCountFromInstancesWithoutProfiles) {
  Mig mig;
  mig.enabled = true;
  Add(mig, 5, {2, 2});
  EXPECT_EQ(Shape(LayOutSlices(mig)), "! ! G2");
}

TEST(LayOutSlices, ReportsWhatCannotBeDrawn) {
  struct Case {
    const char* name;
    std::vector<Placement> placements;
    std::size_t misplaced;
  };
  const Case cases[] = {
      {"overlap", {{0, 4}, {3, 1}}, 1}, {"outside", {{7, 2}}, 1},
      {"empty", {{0, 0}}, 1},           {"far outside", {{0xFFFFFFFF, 0xFFFFFFFF}}, 1},
      {"fine", {{0, 4}, {4, 4}}, 0},
  };
  for (const Case& c : cases) {
    Mig mig = EightSlices();
    for (const Placement& placement : c.placements) Add(mig, 9, placement);
    EXPECT_EQ(LayOutSlices(mig).misplaced.size(), c.misplaced) << c.name;
  }
}

TEST(LayOutSlices, DrawsNoRowForAnImpossibleNumberOfSlices) {
  Mig mig;
  mig.memory_slices = 4000000000;
  EXPECT_EQ(LayOutSlices(mig).slices, 0U);
}

TEST(ProfileSpellings, GoFromWholeToShort) {
  using Spellings = std::vector<std::string>;
  EXPECT_EQ(ProfileSpellings("1g.18gb+me"), (Spellings{"1g.18gb+me", "1g+me", "1g"}));
  EXPECT_EQ(ProfileSpellings("1g.24gb-me"), (Spellings{"1g.24gb-me", "1g-me", "1g"}));
  EXPECT_EQ(ProfileSpellings("3g.71gb"), (Spellings{"3g.71gb", "3g"}));
  EXPECT_EQ(ProfileSpellings("odd"), (Spellings{"odd"}));
  EXPECT_EQ(ProfileSpellings(""), (Spellings{""}));
}

}  // namespace
}  // namespace partita::cli
