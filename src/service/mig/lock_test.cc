#include "service/mig/lock.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::service::mig {
namespace {

class LockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "partita-lock-XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  void TearDown() override { (void)base::RemoveTree(directory_); }

  [[nodiscard]] ChangeLock::Request Ask(const std::string& command) const {
    return {.directory = directory_ + "/run", .command = command};
  }

  std::string directory_;
};

TEST_F(LockTest, TellsTheSecondWhoTheFirstIs) {
  const auto first = ChangeLock::Acquire(Ask("partita mig apply -f a.yaml"));
  ASSERT_TRUE(first.ok()) << first.error().ToString();
  const auto second = ChangeLock::Acquire(Ask("nvidia-mig-parted apply"));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), base::ErrorCode::kBusy);
  EXPECT_EQ(
      second.error().ToString(),
      fmt::format("pid {} (partita mig apply -f a.yaml) is changing this node's GPUs", getpid()));
  EXPECT_EQ(second.error().hint(),
            fmt::format("try again when it is done, or wait for it with --wait; fuser -v "
                        "{}/run/change.lock tells more",
                        directory_));
}

TEST_F(LockTest, IsFreeAgainAfterwards) {
  { ASSERT_TRUE(ChangeLock::Acquire(Ask("a command whose name is longer")).ok()); }
  const auto again = ChangeLock::Acquire(Ask("short"));
  ASSERT_TRUE(again.ok());
  const auto third = ChangeLock::Acquire(Ask("third"));
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().ToString(),
            fmt::format("pid {} (short) is changing this node's GPUs", getpid()));
}

TEST_F(LockTest, IsForNobodyElseAlsoWhereAnOlderProgramLeftItOpen) {
  const std::string path = directory_ + "/run/change.lock";
  ASSERT_TRUE(base::MakeDirectories(directory_ + "/run", 0755).ok());
  ASSERT_TRUE(base::WriteFile(path, "", 0644).ok());
  const auto lock = ChangeLock::Acquire(Ask("first"));
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(LockTest, LeavesNoNameBehind) {
  { ASSERT_TRUE(ChangeLock::Acquire(Ask("first")).ok()); }
  EXPECT_EQ(base::ReadFile(directory_ + "/run/change.lock").value(), "");
}

TEST_F(LockTest, DoesNotNameADeadHolder) {
  const auto lock = ChangeLock::Acquire(Ask("first"));
  ASSERT_TRUE(lock.ok());
  // Of a child that was waited for, so that its number is free.
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  ASSERT_EQ(waitpid(dead, nullptr, 0), dead);
  const std::string line = fmt::format("{} partita mig apply\n", dead);
  ASSERT_TRUE(base::WriteFile(directory_ + "/run/change.lock", line, 0600).ok());
  const auto second = ChangeLock::Acquire(Ask("second"));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().ToString(),
            "a process that has not said who it is is changing this node's GPUs");
}

TEST_F(LockTest, WaitsForTheHolder) {
  auto first = std::make_unique<base::Result<ChangeLock>>(ChangeLock::Acquire(Ask("first")));
  ASSERT_TRUE(first->ok());
  ChangeLock::Request request = Ask("second");
  request.wait = true;
  std::string holder;
  // Only now, so that there was something to wait for.
  request.waiting = [&](const std::string& who) {
    holder += who;
    first.reset();
  };
  EXPECT_TRUE(ChangeLock::Acquire(request).ok());
  EXPECT_EQ(holder, fmt::format("pid {} (first)", getpid()));
}

TEST_F(LockTest, EndsTheWaitWhenItIsTold) {
  const auto first = ChangeLock::Acquire(Ask("first"));
  ASSERT_TRUE(first.ok());
  std::atomic<bool> stop = true;
  ChangeLock::Request request = Ask("second");
  request.wait = true;
  request.stop = &stop;
  const auto second = ChangeLock::Acquire(request);
  ASSERT_FALSE(second.ok());
  EXPECT_TRUE(second.error().hint().starts_with("the wait for it was ended"));
}

TEST_F(LockTest, TakesTheDirectoryFromTheEnvironment) {
  setenv("PARTITA_RUN_DIR", "/somewhere", 1);
  EXPECT_EQ(RunDirectory(), "/somewhere");
  unsetenv("PARTITA_RUN_DIR");
  EXPECT_EQ(RunDirectory(), "/run/partita");
}

}  // namespace
}  // namespace partita::service::mig
