#include "base/log.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace partita::base {
namespace {

class StillClock final : public Clock {
 public:
  [[nodiscard]] Steady Now() const override { return {}; }
  [[nodiscard]] Wall WallNow() const override {
    return std::chrono::sys_days{std::chrono::November / 15 / 2026} +
           std::chrono::milliseconds(3'723'045);
  }
};

class LogTest : public ::testing::Test {
 protected:
  std::string lines_;
  StillClock clock_;
  Log log_{clock_, [this](std::string_view line) { lines_ += line; }};
};

TEST_F(LogTest, WritesALineForPeople) {
  log_.Warn("mode change refused", {{LogKey::kGpu, "GPU-75dc73da"},
                                    {LogKey::kError, "in use by \"python\""},
                                    {LogKey::kDurationMs, 12}});
  EXPECT_EQ(lines_,
            "2026-11-15T01:02:03.045Z warn  mode change refused gpu=GPU-75dc73da "
            "err=\"in use by \\\"python\\\"\" dur_ms=12\n");
}

TEST_F(LogTest, WritesALineForPrograms) {
  log_.SetFormat(LogFormat::kJson);
  log_.Error("no answer", {{LogKey::kPath, "/run/x y"}, {LogKey::kAttempt, 3}});
  EXPECT_EQ(lines_,
            "{\"time\":\"2026-11-15T01:02:03.045Z\",\"level\":\"error\",\"message\":"
            "\"no answer\",\"path\":\"/run/x y\",\"attempt\":3}\n");
}

TEST_F(LogTest, LeavesTimeAndLevelToTheJournal) {
  log_.SetFormat(LogFormat::kJournal);
  log_.Info("ready");
  log_.Error("not ready");
  EXPECT_EQ(lines_, "<6>ready\n<3>not ready\n");
}

TEST_F(LogTest, KeepsWhatIsLessImportantThanAskedForToItself) {
  log_.Debug("detail");
  EXPECT_EQ(lines_, "");
  log_.SetLevel(LogLevel::kDebug);
  log_.Debug("detail");
  EXPECT_NE(lines_, "");
  lines_.clear();
  log_.SetLevel(LogLevel::kError);
  log_.Warn("somebody should look");
  EXPECT_EQ(lines_, "");
}

TEST_F(LogTest, LetsNoTextForgeALineOrMoveACursor) {
  log_.SetFormat(LogFormat::kJournal);
  log_.Info("a\nb", {{LogKey::kPod, "x\n<3>forged\x1b[2J"}});
  EXPECT_EQ(lines_, "<6>a?b pod=\"x\\n<3>forged?[2J\"\n");
}

TEST_F(LogTest, CutsWhatNobodyReads) {
  log_.Info("long", {{LogKey::kError, std::string(100'000, 'x')}});
  EXPECT_LT(lines_.size(), 4200U);
}

TEST_F(LogTest, CutsBetweenCharacters) {
  std::string text = "x", whole = "x";
  for (int i = 0; i < 3000; ++i) text += "ö";
  for (int i = 0; i < 2047; ++i) whole += "ö";
  log_.SetFormat(LogFormat::kJournal);
  log_.Info(text);
  EXPECT_EQ(lines_, "<6>" + whole + "…\n");
}

TEST_F(LogTest, KeepsLinesOfSeveralThreadsApart) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (int n = 0; n < 100; ++n) log_.Info("line");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines_.size(), 400 * std::string("2026-11-15T01:02:03.045Z info  line\n").size());
}

TEST_F(LogTest, TellsARepeatedFailureOnceWhenItChangesAndWhenItIsOver) {
  log_.SetFormat(LogFormat::kJournal);
  RepeatedFailure failure(log_, "cannot read GPUs");
  failure.Succeeded();
  EXPECT_EQ(lines_, "");
  for (int i = 0; i < 5; ++i) failure.Failed(Error(ErrorCode::kTimeout, "no answer"));
  EXPECT_EQ(lines_, "<4>cannot read GPUs err=\"no answer\"\n");
  lines_.clear();
  failure.Failed(Error(ErrorCode::kUnavailable, "no driver").WithHint("load it"), {},
                 LogLevel::kError);
  EXPECT_EQ(lines_, "<3>cannot read GPUs attempt=6 err=\"no driver\" hint=\"load it\"\n");
  lines_.clear();
  failure.Succeeded();
  EXPECT_EQ(lines_, "<6>cannot read GPUs: over, it works again attempt=7\n");
  lines_.clear();
  failure.Succeeded();
  EXPECT_EQ(lines_, "");
  failure.Failed(Error(ErrorCode::kTimeout, "no answer"));
  EXPECT_EQ(lines_, "<4>cannot read GPUs err=\"no answer\"\n");
}

}  // namespace
}  // namespace partita::base
