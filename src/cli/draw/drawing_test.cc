#include "cli/draw/drawing.h"

#include <string>

#include <gtest/gtest.h>

namespace partita::cli {
namespace {

const Glyphs& Unicode() { return Look{}.glyphs(); }
const Glyphs& Ascii() {
  static const Look look{80, false, false};
  return look.glyphs();
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth(""), 0);
  EXPECT_EQ(DisplayWidth("GPU 0"), 5);
  EXPECT_EQ(DisplayWidth("│ ● ░"), 5);
  EXPECT_EQ(DisplayWidth("训练"), 4);
  EXPECT_EQ(DisplayWidth("e\xCC\x81"), 1);  // e and a combining accent
  EXPECT_EQ(DisplayWidth("\xFF\xFE"), 2);
}

TEST(Clean, LeavesNothingThatATerminalObeys) {
  EXPECT_EQ(Clean("\x1b[2J\x07\t\n", true), "?[2J???");
  EXPECT_EQ(Clean("a\x7F\xC2\x9B"
                  "b",
                  true),
            "a??b");                                        // DEL and the 8-bit CSI
  EXPECT_EQ(Clean("x\xE2\x80\xAEy", true), "x?y");          // right-to-left override
  EXPECT_EQ(Clean("\xC0\x80\xED\xA0\x80", true), "?????");  // overlong, surrogate
  EXPECT_EQ(Clean("größe 训练", true), "größe 训练");
  EXPECT_EQ(Clean("größe 训练", false), "gr??e ??");
}

TEST(Fit, CutsByColumnsAndSaysSo) {
  EXPECT_EQ(Fit("tritonserver", 12, Unicode()), "tritonserver");
  EXPECT_EQ(Fit("tritonserver", 8, Unicode()), "tritons…");
  EXPECT_EQ(Fit("tritonserver", 8, Ascii()), "tritons~");
  EXPECT_EQ(Fit("训练大模型", 6, Unicode()), "训练…");  // a wide character does not half fit
  EXPECT_EQ(Fit("x", 0, Unicode()), "");
}

TEST(Line, DropsSpacesAtTheEndWhateverTheirInk) {
  Line line;
  line.Add("a ").Add("  ", Ink::kFault).PadTo(20);
  EXPECT_EQ(line.width(), 20);
  EXPECT_EQ(line.ToString(false), "a");
  EXPECT_EQ(line.ToString(true), "a");
  EXPECT_EQ(Line().PadTo(3).ToString(true), "");
}

TEST(Line, ClosesEveryColourItOpens) {
  EXPECT_EQ(Line().Add("a", Ink::kFault).Add("b").ToString(true), "\x1b[1;38;5;166ma\x1b[0mb");
  EXPECT_EQ(Line().Add("a", Ink::kFault).Add("b").ToString(false), "ab");
}

TEST(Bar, IsAsWideAsAskedForEveryShare) {
  for (const Glyphs* glyphs : {&Unicode(), &Ascii()}) {
    for (const int width : {4, 13, 40}) {
      for (std::uint64_t used = 0; used <= 100; ++used) {
        for (std::uint64_t reserved = 0; used + reserved <= 100; reserved += 7) {
          EXPECT_EQ(Bar({used, reserved, 100}, width, Ink::kLoad, *glyphs).width(), width)
              << used << " " << reserved;
        }
      }
    }
  }
}

TEST(Bar, NeverShowsSomethingAsNothingOrAlmostFullAsFull) {
  EXPECT_EQ(Bar({0, 0, 100}, 4, Ink::kLoad, Unicode()).ToString(false), "░░░░");
  EXPECT_EQ(Bar({1, 0, 1000000}, 4, Ink::kLoad, Unicode()).ToString(false), "▏░░░");
  EXPECT_EQ(Bar({999999, 0, 1000000}, 4, Ink::kLoad, Unicode()).ToString(false), "███▉");
  EXPECT_EQ(Bar({100, 0, 100}, 4, Ink::kLoad, Unicode()).ToString(false), "████");
  EXPECT_EQ(Bar({50, 25, 100}, 4, Ink::kLoad, Unicode()).ToString(false), "██▒░");
  EXPECT_EQ(Bar({1, 0, 1000000}, 6, Ink::kLoad, Ascii()).ToString(false), "[#...]");
}

TEST(Bar, SurvivesAnswersThatMakeNoSense) {
  EXPECT_EQ(Bar({5, 0, 0}, 4, Ink::kLoad, Unicode()).width(), 4);
  EXPECT_EQ(Bar({300, 0, 100}, 4, Ink::kLoad, Unicode()).ToString(false), "████");
}

TEST(Wrapped, IndentsWhatFollows) {
  const Look look{20, false, true};
  const Lines lines = Wrapped(Line().Add("! "), 2, "one two three four  five", Ink::kPlain, look);
  EXPECT_EQ(ToString(lines, false), "! one two three four\n  five\n");
}

TEST(Wrapped, LetsAWordThatIsTooLongStand) {
  const Look look{10, false, true};
  const Lines lines = Wrapped(Line(), 0, "a /very/long/path b", Ink::kPlain, look);
  EXPECT_EQ(ToString(lines, false), "a\n/very/long/path\nb\n");
}

TEST(Flow, StartsEveryLineAtTheSameColumn) {
  const Look look{16, false, true};
  const std::vector<Line> pieces = {Line().Add("aaaa"), Line().Add("bbbb"), Line().Add("cccc")};
  EXPECT_EQ(ToString(Flow(Line().Add("room "), pieces, 2, look), false),
            "room aaaa  bbbb\n     cccc\n");
}

TEST(Beside, AlignsTheSecondBlock) {
  const Lines left = {Line().Add("one")};
  const Lines right = {Line().Add("a"), Line().Add("b")};
  EXPECT_EQ(ToString(Beside(left, right, 5), false), "one  a\n     b\n");
}

}  // namespace
}  // namespace partita::cli
