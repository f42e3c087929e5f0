#include "base/regular_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include <gtest/gtest.h>

namespace partita::base {
namespace {

class RegularFile : public testing::Test {
 protected:
  RegularFile() {
    std::string pattern = testing::TempDir() + "/partita-regular-XXXXXX";
    root_ = mkdtemp(pattern.data());
    EXPECT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
    EXPECT_EQ(symlink("pipe", Path("link").c_str()), 0);
    EXPECT_EQ(mkdir(Path("folder").c_str(), 0700), 0);
  }
  void TearDown() override { EXPECT_TRUE(RemoveTree(root_).ok()); }
  [[nodiscard]] std::string Path(const std::string& name) const { return root_ + "/" + name; }

  std::string root_;
};

TEST_F(RegularFile, IsReadAndNothingElseIsWaitedFor) {
  for (const char* name : {"pipe", "link", "folder"}) {
    const Result<std::string> read = ReadRegularFile(Path(name));
    ASSERT_FALSE(read.ok()) << name;
    EXPECT_EQ(read.error().ToString(), Path(name) + " is no regular file");
  }
  ASSERT_TRUE(WriteFile(Path("file"), "bytes", 0600).ok());
  EXPECT_EQ(*ReadRegularFile(Path("file")), "bytes");
  EXPECT_FALSE(ReadRegularFile(Path("file"), 4).ok());
  EXPECT_EQ(ReadRegularFile(Path("absent")).error().code(), ErrorCode::kNotFound);
}

TEST_F(RegularFile, IsReplacedAndNothingElseIs) {
  for (const char* name : {"pipe", "link", "folder"}) {
    const Result<void> written = ReplaceRegularFile(Path(name), "ours", 0644);
    ASSERT_FALSE(written.ok()) << name;
    EXPECT_EQ(written.error().ToString(), Path(name) + " is no regular file");
  }
  ASSERT_TRUE(WriteFile(Path("file"), "old", 0600).ok());
  ASSERT_TRUE(ReplaceRegularFile(Path("file"), "ours", 0644).ok());
  EXPECT_EQ(*ReadRegularFile(Path("file")), "ours");
  EXPECT_TRUE(ReplaceRegularFile(Path("new"), "ours", 0644).ok());
}

}  // namespace
}  // namespace partita::base
