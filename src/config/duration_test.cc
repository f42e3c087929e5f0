#include "config/duration.h"

#include <gtest/gtest.h>

namespace partita::config {
namespace {

using namespace std::chrono_literals;

TEST(Duration, ReadsWhatGoWrites) {
  EXPECT_EQ(ParseDuration("0"), 0ns);
  EXPECT_EQ(ParseDuration("0s"), 0ns);
  EXPECT_EQ(ParseDuration("5ns"), 5ns);
  EXPECT_EQ(ParseDuration("5us"), 5us);
  EXPECT_EQ(ParseDuration("5\u00b5s"), 5us);
  EXPECT_EQ(ParseDuration("10ms"), 10ms);
  EXPECT_EQ(ParseDuration("60s"), 60s);
  EXPECT_EQ(ParseDuration("1m30s"), 90s);
  EXPECT_EQ(ParseDuration("1.5h"), 90min);
  EXPECT_EQ(ParseDuration(".5s"), 500ms);
  EXPECT_EQ(ParseDuration("1.0000000001s"), 1s);
  EXPECT_EQ(ParseDuration("2562046h"), 2562046h);
}

TEST(Duration, RefusesTheRest) {
  for (const char* text : {"", "5", "s", ".s", "-5s", "+5s", "5 s", "5x", "infinite", "1h-5m",
                           "2562048h", "99999999999999999999s", "1e3s", "2562046h9000000000s"})
    EXPECT_EQ(ParseDuration(text), std::nullopt) << text;
}

}  // namespace
}  // namespace partita::config
