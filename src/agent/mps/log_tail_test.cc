#include "agent/mps/log_tail.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::agent::mps {
namespace {

class LogTailTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    path_ = std::string(directory_.data()) + "/control.log";
    file_.Reset(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    Write("before\n");
  }
  void TearDown() override { EXPECT_TRUE(base::RemoveTree(directory_.data()).ok()); }

  void Write(std::string_view text) const {
    ASSERT_EQ(write(file_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // Until that many lines have been heard.
  void Hear(std::size_t count) {
    until_ = count;
    if (lines_.size() < count) loop_->Run();
  }

  std::array<char, 32> directory_ = {"/tmp/partita-mps.XXXXXX"};
  std::string path_;
  base::UniqueFd file_;
  std::unique_ptr<net::Loop> loop_ = net::NewLoop();
  std::size_t until_ = 0;
  std::vector<std::string> lines_;
  LogTail tail_{*loop_, [this](std::string_view line) {
                  lines_.emplace_back(line);
                  if (lines_.size() == until_) loop_->Stop();
                }};
};

TEST_F(LogTailTest, TellsWholeLinesThatComeAfterItsStart) {
  ASSERT_TRUE(tail_.Start(path_).ok());
  Write("one\ntw");
  Hear(1);
  Write("o\nthree\n");
  Hear(3);
  EXPECT_EQ(lines_, (std::vector<std::string>{"one", "two", "three"}));
}

TEST_F(LogTailTest, ALogThatGrowsIsEmptiedAndGoesOn) {
  ASSERT_TRUE(tail_.Start(path_).ok());
  const std::string line = std::string(99, 'x') + "\n";
  std::size_t count = 0;
  for (off_t size = 0; size <= LogTail::kMostLog; size += 100, ++count) Write(line);
  Hear(count);
  struct stat about {};
  ASSERT_EQ(stat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_size, 0);
  Write("after\n");
  Hear(count + 1);
  EXPECT_EQ(lines_.back(), "after");
}

TEST_F(LogTailTest, ALogThatSomebodyElseEmptiedIsReadFromItsFront) {
  ASSERT_TRUE(tail_.Start(path_).ok());
  Write("a line of some length\n");
  Hear(1);
  // Seen at once, as one change.
  ASSERT_EQ(truncate(path_.c_str(), 0), 0);
  Write("two\n");
  Hear(2);
  EXPECT_EQ(lines_.back(), "two");
}

TEST_F(LogTailTest, SaysWhatCannotBeWatched) {
  const base::Result<void> start = tail_.Start(path_ + ".none");
  ASSERT_FALSE(start.ok());
  EXPECT_EQ(start.error().ToString(),
            "open " + path_ + ".none: No such file or directory (errno 2)");
}

}  // namespace
}  // namespace partita::agent::mps
