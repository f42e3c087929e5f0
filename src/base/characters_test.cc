#include "base/characters.h"

#include <gtest/gtest.h>

#include "base/command_line.h"

namespace partita::base {
namespace {

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
