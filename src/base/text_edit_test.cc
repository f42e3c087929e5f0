#include "base/text_edit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace partita::base {
namespace {

TEST(Apply, PutsPiecesInAnyOrder) {
  EXPECT_EQ(Apply("one two three", {{8, 5, "3"}, {0, 3, "1"}}), "1 two 3");
  EXPECT_EQ(Apply("ab", {{1, 0, "x"}, {1, 0, "y"}}), "axyb");
  EXPECT_EQ(Apply("ab", {{2, 0, "c"}, {0, 0, "_"}}), "_abc");
  EXPECT_EQ(Apply("", {}), "");
}

TEST(ApplyDeathTest, EndsTheProcessWherePiecesOverlap) {
  EXPECT_DEATH((void)Apply("abc", {{0, 2, ""}, {1, 1, ""}}), "splice.at >= done");
  EXPECT_DEATH((void)Apply("abc", {{2, 2, ""}}), "splice.length");
}

TEST(UnifiedDiff, IsEmptyForEqualTexts) { EXPECT_EQ(UnifiedDiff("a\n", "a\n", "f"), ""); }

TEST(UnifiedDiff, ShowsThreeLinesAround) {
  EXPECT_EQ(UnifiedDiff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "f"),
            "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST(UnifiedDiff, OfANewAndARemovedFile) {
  EXPECT_EQ(UnifiedDiff("", "a\nb\n", "f"), "--- f\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
  EXPECT_EQ(UnifiedDiff("a\n", "", "f"), "--- f\n+++ f\n@@ -1 +0,0 @@\n-a\n");
}

TEST(UnifiedDiff, SaysWhereTheLastNewlineIsMissing) {
  EXPECT_EQ(UnifiedDiff("{}", "{}\n", "f"),
            "--- f\n+++ f\n@@ -1 +1 @@\n-{}\n\\ No newline at end of file\n+{}\n");
}

TEST(UnifiedDiff, FarChangesAreHunksOfTheirOwn) {
  std::string before, after;
  for (int i = 1; i <= 20; ++i) {
    before += fmt::format("{}\n", i);
    if (i != 2) after += fmt::format("{}\n", i);
    if (i == 19) after += "new\n";
  }
  EXPECT_EQ(UnifiedDiff(before, after, "f"),
            "--- f\n+++ f\n@@ -1,5 +1,4 @@\n 1\n-2\n 3\n 4\n 5\n"
            "@@ -17,4 +16,5 @@\n 17\n 18\n 19\n+new\n 20\n");
}

TEST(UnifiedDiff, NearChangesShareAHunk) {
  EXPECT_EQ(UnifiedDiff("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n", "f"),
            "--- f\n+++ f\n@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
}

}  // namespace
}  // namespace partita::base
