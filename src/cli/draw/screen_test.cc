#include "cli/draw/screen.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace partita::cli {
namespace {

TEST(TakeKey, KnowsArrowsLettersAndSwallowsTheRest) {
  std::string bytes = "q\x1b[A\x1b[6~ jkgG\x1bOBx";
  std::vector<Key> keys;
  while (!bytes.empty()) keys.push_back(TakeKey(bytes));
  EXPECT_EQ(keys,
            (std::vector<Key>{Key::kQuit, Key::kUp, Key::kPageDown, Key::kPageDown, Key::kDown,
                              Key::kUp, Key::kTop, Key::kBottom, Key::kDown, Key::kOther}));
}

TEST(TakeKey, DoesNotReadLettersOutOfAnUnknownSequence) {
  std::string bytes = "\x1b[1;5q";
  EXPECT_EQ(TakeKey(bytes), Key::kOther);
  EXPECT_EQ(bytes, "");
}

Lines Numbered(int count) {
  Lines lines;
  for (int i = 1; i <= count; ++i) lines.push_back(Line().Add(std::to_string(i)));
  return lines;
}

TEST(ScreenPage, KeepsTheCaptionAtTheFoot) {
  int offset = 0;
  EXPECT_EQ(ScreenPage(Numbered(2), "every 2 s", 5, Look{}, offset), "1\n2\n\n\nevery 2 s");
}

TEST(ScreenPage, SaysWhichPartIsSeen) {
  int offset = 2;
  EXPECT_EQ(ScreenPage(Numbered(9), "every 2 s", 4, Look{}, offset),
            "3\n4\n5\nevery 2 s   lines 3 to 5 of 9, arrows and space move");
}

TEST(ScreenPage, BringsTheOffsetIntoRange) {
  int offset = 100;
  (void)ScreenPage(Numbered(9), "", 4, Look{}, offset);
  EXPECT_EQ(offset, 6);
  offset = -5;
  (void)ScreenPage(Numbered(9), "", 4, Look{}, offset);
  EXPECT_EQ(offset, 0);
  (void)ScreenPage({}, "", 1, Look{}, offset);
  EXPECT_EQ(offset, 0);
}

}  // namespace
}  // namespace partita::cli
