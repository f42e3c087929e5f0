#include "base/shell.h"

#include <gtest/gtest.h>

namespace partita::base {
namespace {

TEST(Shell, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(ShellWord("/dev/nvidia-caps/nvidia-cap1"), "/dev/nvidia-caps/nvidia-cap1");
  EXPECT_EQ(ShellWord("a b;$(id)"), "'a b;$(id)'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord("~root"), "'~root'");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellQuoted("a"), "'a'");
}

}  // namespace
}  // namespace partita::base
