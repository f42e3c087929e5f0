#include "model/mig/compute_profile.h"

#include <gtest/gtest.h>

#include "model/testing/product_geometry.h"

namespace partita::model {
namespace {

using testing::ProductComputeProfiles;

constexpr std::uint32_t kDouble = 9;  // NVML's constant of the 1g profile with double memory

TEST(ChooseComputeProfile, TakesAllMultiprocessorsOfADoubleMemoryInstance) {
  EXPECT_EQ(ChooseComputeProfile(ProductComputeProfiles("H200", kDouble), 1), 7U);
  EXPECT_EQ(ChooseComputeProfile(ProductComputeProfiles("A100-SXM4-40GB", kDouble), 1), 0U);
}

TEST(ChooseComputeProfile, TakesTheWantedWidth) {
  const auto offered = ProductComputeProfiles("A100-SXM4-40GB", 4);
  EXPECT_EQ(ChooseComputeProfile(offered, 7), 4U);
  EXPECT_EQ(ChooseComputeProfile(offered, 2), 1U);
  EXPECT_EQ(ChooseComputeProfile(offered, 5), std::nullopt);
}

TEST(ChooseComputeProfile, TakesTheLowestIdOfEquals) {
  EXPECT_EQ(ChooseComputeProfile({{8, 1, 16}, {3, 1, 16}, {5, 1, 16}}, 1), 3U);
}

}  // namespace
}  // namespace partita::model
