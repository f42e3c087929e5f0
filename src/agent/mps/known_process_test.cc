#include "agent/mps/known_process.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "agent/mps/testing/programs.h"

namespace partita::agent::mps {
namespace {

// A process that is there until it is told to go.
class KnownProcess : public ::testing::Test {
 protected:
  void SetUp() override {
    pid_ = fork();
    if (pid_ == 0) {
      execl("/bin/sleep", "sleep", "1000", nullptr);
      _exit(127);
    }
    ASSERT_TRUE(testing::AwaitProgram(pid_, "sleep"));
    process_ = {.pid = model::Pid(pid_),
                .start_time = ReadStartTime(model::Pid(pid_)).value(),
                .boot_id = "this"};
  }
  void TearDown() override {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  pid_t pid_ = 0;
  service::mps::Process process_;
};

TEST_F(KnownProcess, IsKnownAgain) { EXPECT_TRUE(OpenProcess(process_, "this", "sleep").ok()); }

TEST_F(KnownProcess, ANumberAloneIsNobody) {
  EXPECT_EQ(OpenProcess(process_, "another", "sleep").error().code(), base::ErrorCode::kNotFound);
  EXPECT_EQ(OpenProcess(process_, "this", "leep").error().code(), base::ErrorCode::kNotFound);
  ++process_.start_time;
  const auto later = OpenProcess(process_, "this", "sleep");
  ASSERT_FALSE(later.ok());
  EXPECT_EQ(later.error().ToString(), fmt::format("process {} has ended", pid_));
}

TEST_F(KnownProcess, ItsEnvironmentIsThatOfItsStart) {
  ASSERT_EQ(setenv("PARTITA_TEST_WORD", "one", 1), 0);
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sleep", "sleep", "1000", nullptr);
    _exit(127);
  }
  ASSERT_TRUE(testing::AwaitProgram(child, "sleep"));
  EXPECT_TRUE(HasVariable(model::Pid(child), "PARTITA_TEST_WORD", "one"));
  EXPECT_FALSE(HasVariable(model::Pid(child), "PARTITA_TEST_WORD", "on"));
  EXPECT_FALSE(HasVariable(model::Pid(child), "ARTITA_TEST_WORD", "one"));
  EXPECT_FALSE(HasVariable(process_.pid, "PARTITA_TEST_WORD", "one")) << "that of the one before";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(HasVariable(model::Pid(child), "PARTITA_TEST_WORD", "one"));
}

TEST_F(KnownProcess, ItsEndIsWaitedForAndTakenNoticeOf) {
  const auto opened = OpenProcess(process_, "this", "sleep");
  ASSERT_TRUE(opened.ok());
  EXPECT_FALSE(WaitForEnd(opened->get(), std::chrono::milliseconds(0)));
  const std::atomic<bool> stop = true;
  EXPECT_FALSE(WaitForEnd(opened->get(), std::chrono::hours(1), &stop));
  Signal(opened->get(), SIGTERM);
  EXPECT_TRUE(WaitForEnd(opened->get(), std::chrono::minutes(1)));
  EXPECT_EQ(waitpid(pid_, nullptr, WNOHANG), -1) << "it is a zombie";
  EXPECT_FALSE(ReadStartTime(model::Pid(pid_)).ok());
}

}  // namespace
}  // namespace partita::agent::mps
