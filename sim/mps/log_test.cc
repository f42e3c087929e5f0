#include "sim/mps/log.h"

#include <gtest/gtest.h>

#include <regex>

namespace partita::sim::mps {
namespace {

TEST(Log, LineHasTimeSpeakerAndPid) {
  const std::regex shape(R"(\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} Control   506\] NEW UI\n)");
  EXPECT_TRUE(std::regex_match(LogLine("Control", 506, "NEW UI"), shape))
      << LogLine("Control", 506, "NEW UI");
}

TEST(Log, LineTellsItsSpeaker) {
  EXPECT_EQ(WhoOf("[2026-11-15 11:45:34.417 Other   590] Startup\n"), "Other");
  EXPECT_EQ(WhoOf("[2026-11-15 11:45:34.417 Server123456] Startup\n"), "Server123456]");
  EXPECT_EQ(WhoOf("no line"), "");
  EXPECT_EQ(WhoOf(""), "");
}

}  // namespace
}  // namespace partita::sim::mps
