#include "service/health/xid_table.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace partita::service::health {
namespace {

std::set<std::uint64_t> CodesWith(XidPolicy policy) {
  std::set<std::uint64_t> codes;
  for (const XidRow& row : XidTable())
    if (row.policy == policy) codes.insert(row.xids.begin(), row.xids.end());
  return codes;
}

std::set<std::uint64_t> Codes(std::initializer_list<std::pair<int, int>> ranges) {
  std::set<std::uint64_t> codes;
  for (const auto& [first, last] : ranges)
    for (int code = first; code <= last; ++code) codes.insert(static_cast<std::uint64_t>(code));
  return codes;
}

TEST(XidTable, HasEveryCodeOnceWithMeaningAndSource) {
  std::map<std::uint64_t, int> times;
  for (const XidRow& row : XidTable()) {
    EXPECT_FALSE(row.means.empty());
    EXPECT_FALSE(row.source.empty());
    for (const std::uint64_t xid : row.xids) EXPECT_EQ(++times[xid], 1) << xid;
  }
  EXPECT_GT(times.size(), 120U);
}

TEST(XidTable, TakesOutForHardwareErrorsAlone) {
  EXPECT_EQ(CodesWith(XidPolicy::kReset), Codes({{46, 46},
                                                 {48, 48},
                                                 {62, 62},
                                                 {64, 64},
                                                 {95, 95},
                                                 {110, 110},
                                                 {119, 120},
                                                 {123, 123},
                                                 {136, 136},
                                                 {140, 140},
                                                 {143, 143},
                                                 {155, 156},
                                                 {158, 158},
                                                 {169, 169},
                                                 {172, 172}}));
  EXPECT_EQ(CodesWith(XidPolicy::kReboot), Codes({{79, 79}, {167, 167}}));
  EXPECT_EQ(CodesWith(XidPolicy::kReplace), Codes({{54, 54}, {81, 81}}));
}

TEST(XidTable, LeavesApplicationsToTheirOwners) {
  EXPECT_EQ(CodesWith(XidPolicy::kEventApplication),
            Codes({{8, 8},    {11, 11},   {13, 13},   {25, 25},   {31, 32},   {39, 41},  {43, 43},
                   {60, 60},  {65, 65},   {68, 73},   {75, 77},   {80, 80},   {82, 86},  {88, 89},
                   {96, 105}, {109, 109}, {126, 135}, {137, 137}, {139, 139}, {142, 142}}));
  EXPECT_EQ(CodesWith(XidPolicy::kIgnore), Codes({{37, 38},
                                                  {45, 45},
                                                  {66, 67},
                                                  {93, 93},
                                                  {106, 107},
                                                  {111, 118},
                                                  {138, 138},
                                                  {141, 141},
                                                  {152, 154},
                                                  {171, 171}}));
}

TEST(XidTable, KnowsItsConditions) {
  EXPECT_EQ(RowOf(48).contained, 94U);
  EXPECT_EQ(RowOf(109).often, 3U);
  EXPECT_TRUE(RowOf(156).idle);
  EXPECT_FALSE(RowOf(155).idle);
}

TEST(XidTable, TakesNoUnknownCodeForFatal) {
  EXPECT_EQ(RowOf(7777).policy, XidPolicy::kEventDevice);
  EXPECT_EQ(RowOf(0).policy, XidPolicy::kEventDevice);
}

}  // namespace
}  // namespace partita::service::health
