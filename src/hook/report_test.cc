#include "hook/report.h"

#include <gtest/gtest.h>

namespace partita::hook {
namespace {

TEST(Report, ALineLeavesNothingThatATerminalActsOn) {
  testing::internal::CaptureStderr();
  const Report report("hook", Report::Level::kWarning);
  report.Error(
      base::MakeError(base::ErrorCode::kInvalid, "a\nhook: error: b").WithHint("c\x1b[2J"));
  // C1 controls, as a character and as a bare byte; a mark that turns the text around.
  report.Warning("\xc3\xbc \xc2\x9b \x9b \xe2\x80\xae");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "hook: error: a?hook: error: b\n"
            "hook: hint: c?[2J\n"
            "hook: warning: \xc3\xbc ? ? ?\n");
}

}  // namespace
}  // namespace partita::hook
