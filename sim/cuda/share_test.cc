#include "sim/cuda/share.h"

#include <gtest/gtest.h>

namespace partita::sim::cuda {
namespace {

std::string ReadBack(const char* text) {
  char out[32];
  WriteLimit(ParseLimit(text), out, sizeof out);
  return out;
}

uint64_t Mebibytes(uint64_t bytes) { return bytes >> 20; }

// What driver 580 answered to set_default_device_pinned_mem_limit 0 VALUE and the get after it.
TEST(Limit, IsReadAndReadBackAsTheDriverDoes) {
  EXPECT_EQ(ReadBack("3G"), "3G");
  EXPECT_EQ(ReadBack("3g"), "3G");
  EXPECT_EQ(ReadBack("4GB"), "4G");
  EXPECT_EQ(ReadBack("512M"), "512M");
  EXPECT_EQ(ReadBack("1000"), "1000M");
  EXPECT_EQ(ReadBack("2048K"), "2G");
  EXPECT_EQ(ReadBack("1.5G"), "1M");
  EXPECT_EQ(ReadBack("1T"), "1M");
  EXPECT_EQ(ReadBack("200G"), "200G");
  EXPECT_EQ(ReadBack("-1"), "17179869183G");
  EXPECT_EQ(ReadBack("0"), "");
  EXPECT_EQ(ReadBack("many"), "");
  EXPECT_EQ(ReadBack(""), "");
}

TEST(Limit, IsFoundByOrdinalAndByUuidAndTheLastHolds) {
  uint64_t bytes = 0;
  EXPECT_TRUE(FindLimit("0=2G", 0, "GPU-a", &bytes));
  EXPECT_EQ(bytes, uint64_t{2} << 30);
  EXPECT_FALSE(FindLimit("1=2G", 0, "GPU-a", &bytes));
  EXPECT_FALSE(FindLimit("", 0, "GPU-a", &bytes));
  EXPECT_FALSE(FindLimit("=2G,0", 0, "GPU-a", &bytes));
  EXPECT_TRUE(FindLimit("1=2G,GPU-a=1G", 0, "GPU-a", &bytes));
  EXPECT_EQ(bytes, uint64_t{1} << 30);
  EXPECT_FALSE(FindLimit("GPU-ab=1G", 0, "GPU-a", &bytes));
  EXPECT_TRUE(FindLimit("0=2G,0=x", 0, "GPU-a", &bytes));
  EXPECT_EQ(bytes, 0U);
}

TEST(Percentage, IsANumberAboveZeroUpToAHundred) {
  double value = 40.0;
  EXPECT_TRUE(ParsePercentage("33.36", &value));
  EXPECT_EQ(value, 33.36);
  EXPECT_TRUE(ParsePercentage("50%", &value));
  EXPECT_EQ(value, 50.0);
  EXPECT_TRUE(ParsePercentage("60x", &value));
  EXPECT_TRUE(ParsePercentage("100", &value));
  EXPECT_EQ(value, 100.0);
  for (const char* wrong : {"140", "0", "-5", "abc", "", "nan", "100.1"}) {
    EXPECT_FALSE(ParsePercentage(wrong, &value)) << wrong;
  }
  EXPECT_EQ(value, 100.0);
}

TEST(Share, HasPairsOfMultiprocessorsAsSeen) {
  EXPECT_EQ(SharedMultiprocessors(132, 100.0), 132U);
  EXPECT_EQ(SharedMultiprocessors(132, 50.0), 66U);
  EXPECT_EQ(SharedMultiprocessors(132, 40.0), 52U);
  EXPECT_EQ(SharedMultiprocessors(132, 30.0), 38U);
  EXPECT_EQ(SharedMultiprocessors(132, 25.0), 32U);
  EXPECT_EQ(SharedMultiprocessors(132, 0.1), 2U);
  EXPECT_EQ(SharedMultiprocessors(1, 50.0), 1U);
}

TEST(Context, TakesWhatWasSeen) {
  EXPECT_EQ(Mebibytes(ContextBytes(132, false)), 526U);
  EXPECT_EQ(Mebibytes(ContextBytes(52, true)), 218U);
  EXPECT_EQ(Mebibytes(ContextBytes(32, true)), 144U);
  EXPECT_EQ(Mebibytes(RoundToPages(1)), 2U);
  EXPECT_EQ(RoundToPages(0), 0U);
}

}  // namespace
}  // namespace partita::sim::cuda
