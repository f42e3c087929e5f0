#include "base/characters.h"

#include <iterator>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/command_line.h"

namespace partita::base {
namespace {

TEST(PutUtf8, WritesWhatTheDecoderReads) {
  for (const char32_t code : {U'\0', U'a', U'\x7F', U'\x80', U'\u07FF', U'\u0800', U'\uFFFD',
                              U'\uFFFF', U'\U00010000', U'\U0010FFFF'}) {
    std::string text = "x";
    PutUtf8(text, code);
    const Character read = DecodeCharacter(std::string_view(text).substr(1));
    EXPECT_EQ(read.code, code);
    EXPECT_EQ(read.bytes, text.size() - 1);
  }
  std::string text;
  for (const char32_t code : U"ö€😀") {
    if (code != U'\0') PutUtf8(text, code);
  }
  EXPECT_EQ(text, "ö€😀");
}

TEST(CutAtCharacter, LeavesNoPartOfACharacter) {
  constexpr std::string_view kText = "aö€😀b";  // 1, 2, 3, 4 and 1 bytes
  constexpr std::size_t kEnds[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
  for (std::size_t most = 0; most < std::size(kEnds); ++most)
    EXPECT_EQ(CutAtCharacter(kText, most), kText.substr(0, kEnds[most])) << most;
  EXPECT_EQ(CutAtCharacter("", 0), "");
}

// They could "continue" without end, and nothing would be left.
TEST(CutAtCharacter, CountsBytesThatAreNoCharacter) {
  EXPECT_EQ(CutAtCharacter("\x80\x80\x80\x80\x80", 4), "\x80\x80\x80\x80");
  EXPECT_EQ(CutAtCharacter("\xf0\x9f\x98", 2), "\xf0\x9f");
  EXPECT_EQ(CutAtCharacter("\xc3zz", 1), "\xc3");
}

TEST(Printable, LeavesNothingThatATerminalActsOn) {
  EXPECT_EQ(Printable("sh \x1b]0;title\x07 \x1b[2J"), "sh ?]0;title? ?[2J");
  EXPECT_EQ(Printable("a\nb\tc\x7f"), "a?b?c?");
  // C1 controls, as a character and as a bare byte; a mark that turns the text around.
  EXPECT_EQ(Printable("a\xc2\x9b"
                      "b\x9b"
                      "c\xe2\x80\xae"),
            "a?b?c?");
}

TEST(Printable, LeavesTextAlone) {
  EXPECT_EQ(Printable("python3 \xc3\xbc \xe2\x94\x82"), "python3 \xc3\xbc \xe2\x94\x82");
  EXPECT_EQ(Printable(""), "");
  EXPECT_EQ(Printable("a\n\tb\x1b", "\n\t"), "a\n\tb?");
}

TEST(ErrorText, IsPrintableAndKeepsItsLines) {
  const Error error = MakeError(ErrorCode::kBusy, "used by \x1b[31mevil\nand others")
                          .WithHint("stop \x1b[0m\nthem");
  EXPECT_EQ(ErrorText("partita", error),
            "partita: used by ?[31mevil\nand others\n  stop ?[0m\n  them\n");
}

}  // namespace
}  // namespace partita::base
