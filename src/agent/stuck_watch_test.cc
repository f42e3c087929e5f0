#include "agent/stuck_watch.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "agent/replace.h"
#include "base/files.h"
#include "net/testing/fake_loop.h"
#include "service/ledger/testing/scratch.h"

namespace partita::agent {
namespace {

using std::chrono::seconds;

class StuckWatchTest : public ::testing::Test {
 protected:
  net::testing::FakeLoop loop_;
  std::string calls_;
  std::string told_;
  StuckWatch watch_{loop_,
                    {[this] { return calls_; },
                     [this](const std::string& calls) { told_ += "stuck " + calls + " "; },
                     [this] { told_ += "over "; }}};
};

TEST_F(StuckWatchTest, IsPatientForAMinuteAndTellsAgainWhileItLasts) {
  watch_.Check();
  EXPECT_TRUE(loop_.ArmedTimers().empty()) << "nothing to watch, no timer";
  calls_ = "f on GPU 2";
  watch_.Check();
  loop_.Advance(seconds(59));
  EXPECT_EQ(told_, "");
  watch_.Check();
  loop_.Advance(seconds(1));
  EXPECT_EQ(told_, "stuck f on GPU 2 ");
  loop_.Advance(seconds(5));
  EXPECT_EQ(told_, "stuck f on GPU 2 stuck f on GPU 2 ");
  calls_.clear();
  loop_.Advance(seconds(5));
  EXPECT_EQ(told_, "stuck f on GPU 2 stuck f on GPU 2 over ");
  EXPECT_TRUE(loop_.ArmedTimers().empty());
}

TEST_F(StuckWatchTest, BeginsAnewWhereACallCameBack) {
  calls_ = "f";
  watch_.Check();
  loop_.Advance(seconds(55));
  calls_.clear();
  loop_.Advance(seconds(5));
  calls_ = "f";
  watch_.Check();
  loop_.Advance(seconds(59));
  EXPECT_EQ(told_, "");
}

TEST_F(StuckWatchTest, DoesNotCountTheTimeInWhichItDidNotRun) {
  calls_ = "f";
  watch_.Check();
  loop_.Jump(std::chrono::hours(1));
  EXPECT_EQ(told_, "") << "a process that was stopped for an hour";
  loop_.Advance(seconds(50));
  EXPECT_EQ(told_, "");
  loop_.Advance(seconds(5));
  EXPECT_EQ(told_, "stuck f ");
}

TEST(UnkillableThreads, AreThoseInUninterruptibleSleep) {
  const service::ledger::testing::Scratch tasks;
  const auto thread = [&](const std::string& id, const std::string& stat) {
    std::filesystem::create_directory(tasks.path() + "/" + id);
    ASSERT_TRUE(base::WriteFile(tasks.path() + "/" + id + "/stat", stat, 0600).ok());
  };
  thread("1", "1 (partita) S 0 1 1");
  thread("2", "2 (driver/07:00.0) S 0 1 1");
  EXPECT_TRUE(UnkillableThreads(tasks.path()).empty());
  thread("3", "3 (a) D (b) D 0 1 1");
  EXPECT_EQ(UnkillableThreads(tasks.path()), std::vector<std::string>{"3 (a) D (b)"});
  EXPECT_TRUE(UnkillableThreads(tasks.path() + "/nowhere").empty());
  EXPECT_TRUE(UnkillableThreads().empty()) << "our own, looked at for real";
}

}  // namespace
}  // namespace partita::agent
