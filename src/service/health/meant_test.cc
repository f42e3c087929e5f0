#include "service/health/meant.h"

#include <gtest/gtest.h>

#include "service/health/testing/ward_inventory.h"

namespace partita::service::health {
namespace {

using testing::Ward;
using testing::WardInventory;

TEST(MeantBy, AGpuWithAllOnIt) {
  for (const char* text : {"0", "GPU-1", "0000:07:00.0"}) {
    const auto meant = MeantBy(text, WardInventory());
    ASSERT_TRUE(meant.ok()) << text;
    EXPECT_TRUE((*meant)(Ward::Gpu()));
    EXPECT_TRUE((*meant)(Ward::Device(1, 0)));
    EXPECT_FALSE((*meant)({.gpu = testing::kSecond}));
  }
}

TEST(MeantBy, AMigDeviceAlone) {
  const auto meant = MeantBy("MIG-1", WardInventory());
  ASSERT_TRUE(meant.ok());
  EXPECT_TRUE((*meant)(Ward::Device(1, 0)));
  EXPECT_FALSE((*meant)(Ward::Device(2, 0)));
  EXPECT_FALSE((*meant)(Ward::Gpu()));
}

// The driver may name the instance alone in its error.
TEST(MeantBy, AMigDeviceWithItsGpuInstanceWhereItIsTheOnlyOneThere) {
  model::Inventory node = WardInventory();
  EXPECT_TRUE(MeantBy("MIG-1", node).value()(Ward::Instance(1)));
  EXPECT_FALSE(MeantBy("MIG-1", node).value()(Ward::Instance(2)));
  node.gpus[0].mig->instances[0].compute_instances.emplace_back().id = model::ComputeInstanceId(1);
  EXPECT_FALSE(MeantBy("MIG-1", node).value()(Ward::Instance(1)));
}

TEST(MeantBy, All) {
  const auto meant = MeantBy("all", {});
  ASSERT_TRUE(meant.ok());
  EXPECT_TRUE((*meant)(Ward::Gpu()));
}

TEST(MeantBy, NobodyWhoIsNotHere) {
  for (const char* text : {"2", "GPU-3", "MIG-3"}) {
    const auto meant = MeantBy(text, WardInventory());
    ASSERT_FALSE(meant.ok()) << text;
    EXPECT_EQ(meant.error().code(), base::ErrorCode::kNotFound);
  }
  EXPECT_FALSE(MeantBy("", WardInventory()).ok());
}

}  // namespace
}  // namespace partita::service::health
