#include "sim/mps/settings.h"

#include <gtest/gtest.h>

namespace partita::sim::mps {
namespace {

TEST(Settings, KeepTheOldPercentageWhereTheNewOneIsNone) {
  Settings settings;
  EXPECT_EQ(settings.Percentage(), "100.0");
  EXPECT_TRUE(settings.SetPercentage("33.36"));
  EXPECT_EQ(settings.Percentage(), "33.4");
  EXPECT_FALSE(settings.SetPercentage("140"));
  EXPECT_FALSE(settings.SetPercentage(""));
  EXPECT_EQ(settings.Percentage(), "33.4");
}

// As driver 580: "0" and the UUID of the same GPU are two keys, and "many" takes a limit away.
TEST(Settings, KeepALimitUnderTheKeyItWasSetBy) {
  Settings settings;
  EXPECT_EQ(settings.LimitOf("0"), "");
  settings.SetLimit("0", "3G");
  settings.SetLimit("GPU-a", "2G");
  EXPECT_EQ(settings.LimitOf("0"), "3G");
  EXPECT_EQ(settings.LimitOf("GPU-a"), "2G");
  settings.SetLimit("7", "1G");
  settings.SetLimit("0", "many");
  EXPECT_EQ(settings.LimitOf("0"), "");
  EXPECT_EQ(settings.limits(),
            (std::vector<Limit>{{"GPU-a", std::uint64_t{2} << 30}, {"7", std::uint64_t{1} << 30}}));
  settings.SetLimit("", "1G");
  EXPECT_EQ(settings.limits().size(), 2U);
}

TEST(Settings, SetLastComeLast) {
  Settings settings;
  settings.SetLimit("GPU-a", "2G");
  settings.SetLimit("0", "3G");
  settings.SetLimit("GPU-a", "1G");
  EXPECT_EQ(settings.limits().back().device, "GPU-a");
}

TEST(Settings, ReachAServerAsTheyAre) {
  Settings settings;
  EXPECT_EQ(Settings::Decoded(settings.Encoded()), settings);
  settings.SetPercentage("33.36");
  settings.SetLimit("GPU-a", "2G");
  settings.SetLimit("0", "512M");
  EXPECT_EQ(settings.Encoded(), "33.36 GPU-a=2147483648 0=536870912");
  EXPECT_EQ(Settings::Decoded(settings.Encoded()), settings);
  EXPECT_EQ(Settings::Decoded(""), Settings());
}

}  // namespace
}  // namespace partita::sim::mps
