#include "hw/nvml/device_calls.h"

#include <gtest/gtest.h>

namespace partita::hw::nvml {
namespace {

TEST(RoomFor, IsWhatTheDriverSaysWithinReason) {
  EXPECT_EQ(RoomFor("nvmlList", 0).value(), 0U);
  EXPECT_EQ(RoomFor("nvmlList", 65536).value(), 65536U);
  const base::Result<std::size_t> absurd = RoomFor("nvmlList", 4294967295U);
  ASSERT_FALSE(absurd.ok());
  EXPECT_EQ(absurd.error().ToString(), "nvmlList speaks of 4294967295 entries");
}

}  // namespace
}  // namespace partita::hw::nvml
