#include "config/manifest/quantity.h"

#include <gtest/gtest.h>

namespace partita::config {
namespace {

TEST(ParseQuantity, CountsWhatComesOutWhole) {
  struct Row {
    const char* text;
    std::uint64_t count;
  };
  for (const Row& row : {Row{"1", 1}, Row{"0", 0}, Row{"+8", 8}, Row{"1.0", 1}, Row{"2000m", 2},
                         Row{"0.002k", 2}, Row{"1e1", 10}, Row{"10e-1", 1}, Row{"1Ki", 1024},
                         Row{"0.5Ki", 512}, Row{"1E", 1'000'000'000'000'000'000}, Row{"0.0", 0},
                         Row{"007", 7}, Row{".5k", 500}, Row{"0e40", 0}}) {
    const auto quantity = ParseQuantity(row.text);
    ASSERT_TRUE(quantity) << row.text;
    EXPECT_EQ(*quantity, (Quantity{true, row.count})) << row.text;
  }
}

TEST(ParseQuantity, KnowsPartsOfOne) {
  for (const char* text : {"500m", "0.5", "1.5", "1n", "0.1Ki", "1e-3"}) {
    const auto quantity = ParseQuantity(text);
    ASSERT_TRUE(quantity) << text;
    EXPECT_FALSE(quantity->whole) << text;
  }
}

TEST(ParseQuantity, RefusesWhatIsNone) {
  for (const char* text : {"", ".", "-1", "one", "1 ", " 1", "1x", "1.2.3", "1KiB", "1e", "1e41",
                           "32Ei", "99999999999999999999", "0x1", "1_000", "m", "?", "100E"})
    EXPECT_FALSE(ParseQuantity(text)) << text;
}

}  // namespace
}  // namespace partita::config
