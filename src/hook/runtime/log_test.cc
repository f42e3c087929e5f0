#include "hook/runtime/log.h"

#include "base/json.h"
#include "hook/container/container_fixture.h"

namespace partita::hook {
namespace {

constexpr std::time_t kNow = 1'794'816'000;

TEST(RuntimeLog, LinesAreAsRuncWritesThem) {
  EXPECT_EQ(LogLine("error", "a \"b\"\n", kNow, true),
            "{\"level\":\"error\",\"msg\":\"a \\\"b\\\"\\n\",\"time\":\"2026-11-16T08:00:00Z\"}\n");
  EXPECT_EQ(LogLine("error", "a \"b\"\n", kNow, false),
            "time=\"2026-11-16T08:00:00Z\" level=error msg=\"a \\\"b\\\"\\n\"\n");
}

TEST(RuntimeLog, TextLeavesNothingThatATerminalActsOn) {
  EXPECT_EQ(LogLine("error", "a\x1b[2J \xc2\x9b \xe2\x80\xae", kNow, false),
            "time=\"2026-11-16T08:00:00Z\" level=error msg=\"a?[2J ? ?\"\n");
}

TEST(RuntimeLog, LevelsAreLogruss) {
  EXPECT_EQ(RuntimeLog::ParseLevel("info"), RuntimeLog::Level::kInfo);
  EXPECT_EQ(RuntimeLog::ParseLevel("warn"), RuntimeLog::Level::kWarning);
  EXPECT_EQ(RuntimeLog::ParseLevel("trace"), RuntimeLog::Level::kDebug);
  EXPECT_EQ(RuntimeLog::ParseLevel("loud"), std::nullopt);
}

class RuntimeLogFile : public ContainerTest {};

std::vector<std::string> Messages(const std::string& text) {
  std::vector<std::string> messages;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    const auto value = base::ParseJson(text.substr(at, end - at));
    EXPECT_TRUE(value.ok()) << text;
    messages.push_back(value->Find("level")->AsString() + " " + value->Find("msg")->AsString());
    at = end + 1;
  }
  return messages;
}

TEST_F(RuntimeLogFile, AppendsToEveryFileUpToTheLevel) {
  Write("in/old", "{\"level\":\"info\",\"msg\":\"before\"}\n");
  RuntimeLog log("test");
  log.Open({Path("in/old"), "", "/dev/null", Path("in/new/deep/log")}, true,
           RuntimeLog::Level::kInfo);
  log.Info("one");
  log.Debug("two");
  log.Warning("three");
  log.Error(base::MakeError(base::ErrorCode::kInvalid, "four").WithHint("do five"));
  EXPECT_EQ(Messages(Read("in/new/deep/log")),
            (std::vector<std::string>{"info one", "warning three", "error four (do five)"}));
  EXPECT_EQ(Messages(Read("in/old")).size(), 4U);
}

TEST_F(RuntimeLogFile, AFileThatCannotBeOpenedIsAWarning) {
  Write("in/file", "");
  RuntimeLog log("test");
  log.Open({Path("in/file/log"), Path("in/good")}, true, RuntimeLog::Level::kError);
  log.Error(base::MakeError(base::ErrorCode::kInvalid, "x"));
  EXPECT_EQ(Messages(Read("in/good")), std::vector<std::string>{"error x"});
}

TEST(Shortened, LeavesOutTheMiddle) {
  EXPECT_EQ(Shortened(std::string(4096, 'a')).size(), 4096U);
  const std::string text = Shortened("begin" + std::string(8U << 20, 'a') + "end");
  EXPECT_LT(text.size(), 4200U);
  EXPECT_TRUE(text.starts_with("begina") && text.ends_with("aend")) << text;
  EXPECT_NE(text.find(" [8384520 bytes more] "), std::string::npos) << text.substr(3000, 200);
}

}  // namespace
}  // namespace partita::hook
