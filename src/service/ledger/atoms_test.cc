// The table of overlaps, cell by cell, and every pair of places that the A100 and the H200 have.
// The judge counts bits by itself and shares nothing with the code but the products' facts.
#include "service/ledger/atoms.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "model/testing/product_geometry.h"

namespace partita::service::ledger {
namespace {

using model::GpuUuid;
using model::PciAddress;

const PciAddress kSlot{0, 7, 0, 0};
const PciAddress kOtherSlot{0, 8, 0, 0};
const WholeGpu kAtomGpu{GpuUuid("GPU-a"), kSlot};
const WholeGpu kOther{GpuUuid("GPU-b"), kOtherSlot};
const Sharing kSliced{"time-slicing", "10 ms", "nvidia.com/gpu"};
const Sharing kMps{"mps", "", "nvidia.com/gpu"};
const Sharing kSlower{"time-slicing", "30 ms", "nvidia.com/gpu"};
const Sharing kRenamed{"time-slicing", "10 ms", "nvidia.com/gpu.shared"};

MigDevice Mig(const WholeGpu& gpu, model::Placement memory, model::Placement compute) {
  return {gpu, model::ProfileId(memory.size), memory, compute};
}
const MigDevice kFirst = Mig(kAtomGpu, {0, 4}, {0, 2});
const MigDevice kSameGi = Mig(kAtomGpu, {0, 4}, {2, 1});
const MigDevice kOverlapping = Mig(kAtomGpu, {0, 4}, {1, 2});
const MigDevice kBeside = Mig(kAtomGpu, {4, 2}, {0, 2});
const MigDevice kInTheWay = Mig(kAtomGpu, {2, 2}, {0, 2});
const VfioDevice kVfio{kSlot, GpuUuid("GPU-a"), 4};
const VfioDevice kForgotten{kSlot, std::nullopt, 4};
const VfioDevice kGroupMate{kOtherSlot, GpuUuid("GPU-b"), 4};
const VfioDevice kFarVfio{kOtherSlot, GpuUuid("GPU-b"), 5};

struct Row {
  std::string name;
  Device a, b;
  Clash clash;
};
const std::vector<Row> kTable = {
    {"whole GPU, itself", kAtomGpu, kAtomGpu, Clash::kSameGpu},
    {"whole GPU, another", kAtomGpu, kOther, Clash::kNone},
    {"whole GPU, its MIG device", kAtomGpu, kFirst, Clash::kSameGpu},
    {"whole GPU, another's MIG device", kOther, kFirst, Clash::kNone},
    {"whole GPU, its share", kAtomGpu, Share{kAtomGpu, 0, kSliced}, Clash::kShared},
    {"whole GPU, a share of its MIG device", kAtomGpu, Share{kFirst, 0, kSliced}, Clash::kSameGpu},
    {"whole GPU, another's share", kOther, Share{kAtomGpu, 0, kSliced}, Clash::kNone},
    {"whole GPU, itself under vfio", kAtomGpu, kVfio, Clash::kSameGpu},
    {"whole GPU, its address under vfio", kAtomGpu, kForgotten, Clash::kSameGpu},
    {"whole GPU, another board at its address", kAtomGpu, VfioDevice{kSlot, GpuUuid("GPU-z"), 4},
     Clash::kNone},
    {"whole GPU, another under vfio", kAtomGpu, kFarVfio, Clash::kNone},
    {"whole GPU, another of its IOMMU group", kAtomGpu, kGroupMate, Clash::kNone},
    {"MIG device, itself", kFirst, kFirst, Clash::kComputeSlices},
    {"MIG device, beside it in the instance", kFirst, kSameGi, Clash::kNone},
    {"MIG device, over it in the instance", kFirst, kOverlapping, Clash::kComputeSlices},
    {"MIG device, another instance", kFirst, kBeside, Clash::kNone},
    {"MIG device, an instance that cannot be", kFirst, kInTheWay, Clash::kMemorySlices},
    {"MIG device, same place of another GPU", kFirst, Mig(kOther, {0, 4}, {0, 2}), Clash::kNone},
    {"MIG device, its share", kFirst, Share{kFirst, 0, kSliced}, Clash::kShared},
    {"MIG device, a share of another", kFirst, Share{kBeside, 0, kSliced}, Clash::kNone},
    {"MIG device, a share of what cannot be", kFirst, Share{kInTheWay, 0, kSliced},
     Clash::kMemorySlices},
    {"MIG device, a share over it", kFirst, Share{kOverlapping, 0, kSliced}, Clash::kComputeSlices},
    {"MIG device, a share of its GPU", kFirst, Share{kAtomGpu, 0, kSliced}, Clash::kSameGpu},
    {"MIG device, its GPU under vfio", kFirst, kVfio, Clash::kSameGpu},
    {"share, made alike", Share{kAtomGpu, 0, kSliced}, Share{kAtomGpu, 1, kSliced}, Clash::kNone},
    {"share, itself", Share{kAtomGpu, 1, kSliced}, Share{kAtomGpu, 1, kSliced}, Clash::kSameShare},
    {"share, the same number of another size", Share{kAtomGpu, 1, kMps, "small"},
     Share{kAtomGpu, 1, kMps, "large"}, Clash::kNone},
    {"share, itself among sizes", Share{kAtomGpu, 1, kMps, "small"},
     Share{kAtomGpu, 1, kMps, "small"}, Clash::kSameShare},
    {"share of a size, time-sliced", Share{kAtomGpu, 1, kMps, "small"}, Share{kAtomGpu, 0, kSliced},
     Clash::kSharing},
    {"share of a size, its GPU", Share{kAtomGpu, 1, kMps, "small"}, kAtomGpu, Clash::kShared},
    {"share, another strategy", Share{kAtomGpu, 0, kSliced}, Share{kAtomGpu, 1, kMps},
     Clash::kSharing},
    {"share, other parameters", Share{kAtomGpu, 0, kSliced}, Share{kAtomGpu, 1, kSlower},
     Clash::kSharing},
    {"share, another offer", Share{kAtomGpu, 0, kSliced}, Share{kAtomGpu, 1, kRenamed},
     Clash::kSharing},
    {"share, another GPU's otherwise made", Share{kAtomGpu, 0, kSliced}, Share{kOther, 0, kMps},
     Clash::kNone},
    {"share of MIG, made alike", Share{kFirst, 0, kSliced}, Share{kFirst, 1, kSliced},
     Clash::kNone},
    {"share of MIG, another device's otherwise made", Share{kFirst, 0, kSliced},
     Share{kBeside, 0, kMps}, Clash::kNone},
    {"share of MIG, of one over it", Share{kFirst, 0, kSliced}, Share{kOverlapping, 1, kSliced},
     Clash::kComputeSlices},
    {"share of MIG, share of its GPU", Share{kFirst, 0, kSliced}, Share{kAtomGpu, 1, kSliced},
     Clash::kSameGpu},
    {"share, its GPU under vfio", Share{kAtomGpu, 0, kSliced}, kVfio, Clash::kSameGpu},
    {"share of MIG, its GPU under vfio", Share{kFirst, 0, kSliced}, kVfio, Clash::kSameGpu},
    {"vfio, itself", kVfio, kForgotten, Clash::kSameGpu},
    {"vfio, its group", kVfio, kGroupMate, Clash::kIommuGroup},
    {"vfio, another group", kVfio, kFarVfio, Clash::kNone},
    {"vfio, no group known", VfioDevice{kSlot}, VfioDevice{kOtherSlot}, Clash::kNone},
};

TEST(Overlap, IsTheTable) {
  for (const Row& row : kTable) {
    EXPECT_EQ(Overlap({row.a}, {row.b}), row.clash) << row.name;
    EXPECT_EQ(Overlap({row.b}, {row.a}), row.clash) << row.name << ", the other way round";
  }
}

TEST(MayMeet, IsFalseOnlyWhereNothingOverlaps) {
  for (const Row& row : kTable) {
    if (row.clash == Clash::kNone) continue;
    EXPECT_TRUE(MayMeet(row.a, row.b)) << row.name;
    EXPECT_TRUE(MayMeet(row.b, row.a)) << row.name;
  }
  EXPECT_FALSE(MayMeet(kAtomGpu, kOther));
  EXPECT_FALSE(MayMeet(Share{kFirst, 0, kSliced}, kOther));
}

TEST(Overlap, LetsOneOwnerHaveAnIommuGroup) {
  EXPECT_EQ(Overlap({kVfio}, {kGroupMate}, true), Clash::kNone);
  EXPECT_EQ(Overlap({kAtomGpu}, {kVfio}, true), Clash::kSameGpu);
  EXPECT_EQ(Overlap({kAtomGpu}, {kFirst}, true), Clash::kSameGpu) << "only there";
}

TEST(Overlap, LetsAdminAccessStandBesideAnythingButVfio) {
  for (const Row& row : kTable) {
    const bool vfio_a = std::holds_alternative<VfioDevice>(row.a);
    const bool vfio_b = std::holds_alternative<VfioDevice>(row.b);
    Clash expected = Clash::kNone;
    // An IOMMU group is nothing to one who only looks.
    if ((vfio_a || vfio_b) && row.clash == Clash::kSameGpu) expected = Clash::kVfioAdmin;
    EXPECT_EQ(Overlap({row.a, true}, {row.b}), expected) << row.name;
    EXPECT_EQ(Overlap({row.a}, {row.b, true}), expected) << row.name;
    EXPECT_EQ(Overlap({row.a, true}, {row.b, true}), expected) << row.name;
  }
}

// A device that a real product can have, with its slices as bits.
struct Seat {
  MigDevice device;
  std::size_t instance;  // which profile at which start, numbered
  std::uint64_t memory = 0, compute = 0;
};

std::uint64_t Bits(std::uint32_t start, std::uint32_t size) {
  std::uint64_t bits = 0;
  for (std::uint32_t i = start; i < start + size; ++i) bits |= std::uint64_t{1} << i;
  return bits;
}

std::vector<Seat> SeatsOf(std::string_view product) {
  const model::Gpu gpu = model::testing::ProductGpu(product);
  std::vector<Seat> seats;
  std::size_t instance = 0;
  for (const model::GpuInstanceProfile& profile : gpu.mig->profiles) {
    const auto computes = model::testing::ProductComputeProfiles(product, profile.constant.value());
    for (const model::Placement& memory : profile.placements) {
      ++instance;
      for (const model::ComputeInstanceProfile& compute : computes)
        for (const model::Placement& place : compute.placements)
          seats.push_back({{kAtomGpu, profile.id, memory, place},
                           instance,
                           Bits(memory.start, memory.size),
                           Bits(place.start, place.size)});
    }
  }
  return seats;
}

bool JudgeMeets(const Seat& a, const Seat& b) {
  return a.instance == b.instance ? (a.compute & b.compute) != 0 : (a.memory & b.memory) != 0;
}

class OverlapOfProducts : public testing::TestWithParam<const char*> {};

TEST_P(OverlapOfProducts, IsThatOfTheirSlices) {
  const std::vector<Seat> seats = SeatsOf(GetParam());
  ASSERT_GT(seats.size(), 30U);
  for (const Seat& a : seats) {
    for (const Seat& b : seats) {
      const bool meets = JudgeMeets(a, b);
      const std::string what = KeyOf(a.device) + " and " + KeyOf(b.device);
      EXPECT_EQ(Overlap({a.device}, {b.device}) != Clash::kNone, meets) << what;
      EXPECT_EQ(Overlap({a.device}, {Share{b.device, 0, kSliced}}) != Clash::kNone, meets) << what;
      const bool same = a.instance == b.instance && a.compute == b.compute;
      EXPECT_EQ(
          Overlap({Share{a.device, 0, kSliced}}, {Share{b.device, 1, kSliced}}) != Clash::kNone,
          meets && !same)
          << what;
      EXPECT_EQ(Overlap({Share{a.device, 0, kSliced}}, {Share{b.device, 1, kMps}}) != Clash::kNone,
                meets)
          << what;
      EXPECT_EQ(Overlap({a.device, true}, {b.device}), Clash::kNone) << what;
    }
    EXPECT_EQ(Overlap({a.device}, {kAtomGpu}), Clash::kSameGpu);
    EXPECT_EQ(Overlap({a.device}, {kVfio}), Clash::kSameGpu);
    EXPECT_NE(Overlap({a.device}, {WholeInstance(kAtomGpu, a.device.profile, a.device.memory)}),
              Clash::kNone);
  }
}

INSTANTIATE_TEST_SUITE_P(Products, OverlapOfProducts, testing::Values("A100-SXM4-40GB", "H200"));

}  // namespace
}  // namespace partita::service::ledger
