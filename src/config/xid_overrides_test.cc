#include "config/xid_overrides.h"

#include <gtest/gtest.h>

namespace partita::config {
namespace {

using Xids = std::set<std::uint64_t>;

XidOverrides ReadXids(const char* disable, const char* enable) {
  const auto text = [](const char* word) {
    return word == nullptr ? std::nullopt : std::optional<std::string>(word);
  };
  const XidOverridesRead read = ParseXidOverrides(text(disable), text(enable));
  EXPECT_TRUE(read.warnings.empty());
  return read.overrides;
}

TEST(XidOverrides, LeaveEverythingToThePresetWhenNobodySaysAnything) {
  const XidOverrides none = ReadXids(nullptr, nullptr);
  EXPECT_EQ(none, XidOverrides{});
  EXPECT_EQ(none.Fatal(13), std::nullopt);
  EXPECT_EQ(none.Fatal(79), std::nullopt);
  EXPECT_FALSE(none.Off());
  EXPECT_EQ(ReadXids("", ""), XidOverrides{});
  EXPECT_EQ(ReadXids(",", " , "), XidOverrides{});
}

TEST(XidOverrides, IgnoreWhatIsListed) {
  const XidOverrides listed = ReadXids("68,109", nullptr);
  EXPECT_EQ(listed.ignored, (Xids{68, 109}));
  EXPECT_EQ(listed.Fatal(109), false);
  EXPECT_EQ(listed.Fatal(79), std::nullopt);
  EXPECT_EQ(ReadXids("68  ", nullptr).ignored, Xids{68});
}

TEST(XidOverrides, AreOffWhereAllAreDisabled) {
  for (const char* word : {"all", "xids", "ALL", " Xids ", "13,all"}) {
    const XidOverrides off = ReadXids(word, nullptr);
    EXPECT_TRUE(off.Off()) << word;
    EXPECT_EQ(off.Fatal(79), false) << word;
  }
  // Only as an item: a word that holds it is another word.
  EXPECT_FALSE(ParseXidOverrides("allxids", std::nullopt).overrides.Off());
}

TEST(XidOverrides, LetEnableAllWinOverAnything) {
  for (const char* disable : {static_cast<const char*>(nullptr), "13", "all"}) {
    const XidOverrides all = ReadXids(disable, "all");
    EXPECT_EQ(all.Fatal(13), true);
    EXPECT_EQ(all.Fatal(79), true);
    EXPECT_FALSE(all.Off());
  }
}

TEST(XidOverrides, LetEnableWinWhereBothNameOne) {
  EXPECT_EQ(ReadXids("11", "11").Fatal(11), true);
}

TEST(XidOverrides, MakeOneFatalThatThePresetIgnores) {
  const XidOverrides one = ReadXids(nullptr, "45");
  EXPECT_EQ(one.Fatal(45), true);
  EXPECT_EQ(one.Fatal(43), std::nullopt);
}

TEST(XidOverrides, LeaveOnlyTheEnabledOnesWhereAllOthersAreDisabled) {
  const XidOverrides two = ReadXids("all", "48,79");
  EXPECT_FALSE(two.Off());
  EXPECT_EQ(two.Fatal(48), true);
  EXPECT_EQ(two.Fatal(79), true);
  EXPECT_EQ(two.Fatal(13), false);
  EXPECT_EQ(two.Fatal(95), false);
}

TEST(XidOverrides, TellWordsThatAreNoXids) {
  const XidOverridesRead read = ParseXidOverrides("68,not-an-int,67", "-68");
  EXPECT_EQ(read.overrides.ignored, (Xids{67, 68}));
  EXPECT_EQ(read.overrides.fatal, Xids{});
  EXPECT_EQ(read.warnings,
            (std::vector<std::string>{"DP_DISABLE_HEALTHCHECKS: \"not-an-int\" is no XID and is "
                                      "left out: write numbers, or all",
                                      "DP_ENABLE_HEALTHCHECKS: \"-68\" is no XID and is left "
                                      "out: write numbers, or all"}));
}

}  // namespace
}  // namespace partita::config
