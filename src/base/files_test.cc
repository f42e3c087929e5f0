#include "base/files.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/unique_fd.h"

namespace partita::base {
namespace {

class FilesTest : public testing::Test {
 protected:
  FilesTest() {
    std::string pattern = testing::TempDir() + "/partita-files-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  void TearDown() override { EXPECT_TRUE(RemoveTree(root_).ok()); }

  std::string Path(const std::string& name) const { return root_ + "/" + name; }

  static mode_t ModeOf(const std::string& path) {
    struct stat about = {};
    EXPECT_EQ(lstat(path.c_str(), &about), 0);
    return about.st_mode & 07777;
  }

  std::string root_;
};

TEST_F(FilesTest, ReadsWhatWasWritten) {
  const std::string bytes = std::string("a\0b", 3) + std::string(100000, 'x');
  ASSERT_TRUE(WriteFile(Path("f"), bytes, 0640).ok());
  const Result<std::string> read = ReadFile(Path("f"));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, bytes);
}

TEST_F(FilesTest, ReadsFilesThatHaveNoSize) {
  const Result<std::string> read = ReadFile("/proc/self/status");
  ASSERT_TRUE(read.ok());
  EXPECT_NE(read->find("Name:"), std::string::npos);
}

TEST_F(FilesTest, ReadsNoMoreThanItMay) {
  const Result<std::string> endless = ReadFile("/dev/zero");
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(endless.error().ToString(), "/dev/zero has more than 16777216 bytes");
  EXPECT_EQ(endless.error().hint(), "is it the right file?");
  ASSERT_TRUE(WriteFile(Path("f"), "four", 0600).ok());
  EXPECT_TRUE(ReadFile(Path("f"), 4).ok());
  EXPECT_FALSE(ReadFile(Path("f"), 3).ok());
}

TEST_F(FilesTest, NamesThePathAndTheReason) {
  const Result<std::string> absent = ReadFile(Path("absent"));
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(absent.error().ToString(),
            "open " + Path("absent") + ": No such file or directory (errno 2)");
  const Result<std::string> directory = ReadFile(root_);
  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().ToString(), "read " + root_ + ": Is a directory (errno 21)");
}

TEST_F(FilesTest, MakesAtomicallyWithTheModeAsked) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "new", 0664).ok());
  EXPECT_EQ(*ReadFile(Path("f")), "new");
  EXPECT_EQ(ModeOf(Path("f")), 0664u);
  EXPECT_EQ(*ListDirectory(root_), std::vector<std::string>{"f"});
}

TEST_F(FilesTest, ReplacesWithoutOpeningWhatWasClosed) {
  ASSERT_TRUE(WriteFile(Path("f"), "old", 0600).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "new", 0644).ok());
  EXPECT_EQ(*ReadFile(Path("f")), "new");
  EXPECT_EQ(ModeOf(Path("f")), 0600u);
  ASSERT_EQ(chmod(Path("f").c_str(), 0755), 0);
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "newer", 0640).ok());
  EXPECT_EQ(ModeOf(Path("f")), 0640u);
}

TEST_F(FilesTest, AReplacedFileKeepsItsOwnerWhereNobodyElseMayWrite) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: only root gives files away";
  const auto owner = [](const std::string& path) {
    struct stat about = {};
    EXPECT_EQ(stat(path.c_str(), &about), 0);
    return about.st_uid;
  };
  for (const mode_t directory : {mode_t{0755}, mode_t{01777}}) {
    ASSERT_EQ(chmod(root_.c_str(), directory), 0);
    ASSERT_TRUE(WriteFile(Path("f"), "old", 0600).ok());
    ASSERT_EQ(chown(Path("f").c_str(), 1000, 1000), 0);
    ASSERT_TRUE(WriteFileAtomically(Path("f"), "new", 0600).ok());
    EXPECT_EQ(owner(Path("f")), directory == 0755 ? 1000U : 0U);
    ASSERT_EQ(unlink(Path("f").c_str()), 0);
  }
}

TEST_F(FilesTest, WritesIntoAFileThatIsMounted) {
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_PRIVATE | MS_REC, nullptr) != 0)
    GTEST_SKIP() << "needs the right to mount: run as root";
  ASSERT_TRUE(WriteFile(Path("a"), "behind the mount", 0600).ok());
  ASSERT_TRUE(WriteFile(Path("b"), "a long old text", 0600).ok());
  ASSERT_EQ(mount(Path("b").c_str(), Path("a").c_str(), nullptr, MS_BIND, nullptr), 0);
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "new", 0600).ok());
  EXPECT_EQ(*ReadFile(Path("b")), "new");
  ASSERT_EQ(umount(Path("a").c_str()), 0);
  EXPECT_EQ(*ReadFile(Path("a")), "behind the mount");
}

TEST_F(FilesTest, LeavesNothingBehindWhenTheRenameFails) {
  ASSERT_TRUE(MakeDirectories(Path("d/below"), 0755).ok());
  const Result<void> written = WriteFileAtomically(Path("d"), "x", 0600);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(*ListDirectory(root_), std::vector<std::string>{"d"});
}

TEST_F(FilesTest, ListsSortedAndWithoutDots) {
  for (const char* name : {"b", "a", ".c"}) ASSERT_TRUE(WriteFile(Path(name), "", 0600).ok());
  EXPECT_EQ(*ListDirectory(root_), (std::vector<std::string>{".c", "a", "b"}));
  EXPECT_EQ(ListDirectory(Path("absent")).error().code(), ErrorCode::kNotFound);
}

TEST_F(FilesTest, MakesDirectoriesAndAcceptsThoseThatExist) {
  EXPECT_TRUE(MakeDirectories(Path("a/b/c"), 0755).ok());
  EXPECT_TRUE(MakeDirectories(Path("a/b/c/"), 0755).ok());
  EXPECT_TRUE(MakeDirectories("/", 0755).ok());
  ASSERT_TRUE(WriteFile(Path("f"), "", 0600).ok());
  EXPECT_EQ(MakeDirectories(Path("f"), 0755).error().ToString(),
            "make directory " + Path("f") + ": Not a directory (errno 20)");
  EXPECT_FALSE(MakeDirectories(Path("f/g"), 0755).ok());
}

TEST_F(FilesTest, RemovesATreeButNotWhatItsLinksPointTo) {
  ASSERT_TRUE(MakeDirectories(Path("keep"), 0755).ok());
  ASSERT_TRUE(WriteFile(Path("keep/f"), "x", 0600).ok());
  ASSERT_TRUE(MakeDirectories(Path("tree/a/b"), 0755).ok());
  ASSERT_TRUE(WriteFile(Path("tree/a/f"), "x", 0600).ok());
  ASSERT_EQ(symlink(Path("keep").c_str(), Path("tree/a/link").c_str()), 0);
  EXPECT_TRUE(RemoveTree(Path("tree/")).ok());
  EXPECT_FALSE(Exists(Path("tree")));
  EXPECT_TRUE(Exists(Path("keep/f")));
  EXPECT_TRUE(RemoveTree(Path("tree")).ok());
}

TEST_F(FilesTest, RemovesALinkItself) {
  ASSERT_TRUE(MakeDirectories(Path("keep"), 0755).ok());
  ASSERT_EQ(symlink("keep", Path("link").c_str()), 0);
  EXPECT_EQ(*ReadLink(Path("link")), "keep");
  EXPECT_TRUE(RemoveTree(Path("link")).ok());
  EXPECT_FALSE(Exists(Path("link")));
  EXPECT_TRUE(Exists(Path("keep")));
}

// In a child with its own mounts: 0 when a bind mount stopped the removal, 77 when mounts are not
// ours to make.
int RemoveAcrossABindMount(const std::string& root) {
  if (unshare(CLONE_NEWNS) != 0) return 77;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
  const std::string target = root + "/tree/mounted";
  if (mount((root + "/keep").c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0) return 77;
  const Result<void> below = RemoveTree(root + "/tree");
  const Result<void> itself = RemoveTree(target);
  if (below.ok() || itself.ok() || below.error().code() != ErrorCode::kBusy) return 1;
  if (below.error().ToString() != target + " is a mount point and was left alone") return 2;
  return Exists(root + "/keep/f") ? 0 : 3;
}

TEST_F(FilesTest, DoesNotCrossMounts) {
  ASSERT_TRUE(MakeDirectories(Path("keep"), 0755).ok());
  ASSERT_TRUE(WriteFile(Path("keep/f"), "x", 0600).ok());
  ASSERT_TRUE(MakeDirectories(Path("tree/mounted"), 0755).ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(RemoveAcrossABindMount(root_));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "needs the right to mount: run as root to test that mounts are not crossed";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(JoinPath, PutsANameUnderARoot) {
  EXPECT_EQ(JoinPath("/root", "proc/driver"), "/root/proc/driver");
  EXPECT_EQ(JoinPath("/root/", "/proc"), "/root/proc");
  EXPECT_EQ(JoinPath("/", "/proc"), "/proc");
  EXPECT_EQ(JoinPath("", "a"), "a");
  EXPECT_EQ(JoinPath("/root", ""), "/root");
}

TEST(OnHost, IsThePathBelowTheHostsRoot) {
  EXPECT_EQ(OnHost("/host/run/driver/", "/host"), "/run/driver");
  EXPECT_EQ(OnHost("/host", "/host/"), "/");
  EXPECT_EQ(OnHost("/host2/run", "/host"), "/host2/run");
  EXPECT_EQ(OnHost("/", "/host"), "/");
  EXPECT_EQ(OnHost("/run/driver", "/"), "/run/driver");
  EXPECT_EQ(OnHost("/", "/"), "/");
}

TEST(ReadLink, ReportsWhatIsNoLink) {
  EXPECT_EQ(ReadLink("/proc").error().ToString(), "read link /proc: Invalid argument (errno 22)");
}

TEST(UniqueFd, ClosesOnceAndMoves) {
  UniqueFd first(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = first.get();
  ASSERT_TRUE(first.valid());
  UniqueFd second = std::move(first);
  EXPECT_EQ(second.get(), number);
  second.Reset();
  EXPECT_EQ(fcntl(number, F_GETFD), -1);
  UniqueFd third(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int kept = third.Release();
  third.Reset();
  EXPECT_GE(fcntl(kept, F_GETFD), 0);
  close(kept);
}

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

TEST(RealPath, IsOneForOneFile) {
  std::string made = testing::TempDir() + "/partita-real-path-XXXXXX";
  ASSERT_NE(mkdtemp(made.data()), nullptr);
  const auto in = [&](const std::string& name) { return made + "/" + name; };
  const std::string root = RealPath(made).value();
  ASSERT_TRUE(MakeDirectories(in("a/b"), 0755).ok());
  ASSERT_EQ(symlink("a", in("way").c_str()), 0);
  ASSERT_EQ(symlink("../later", in("a/to").c_str()), 0);
  ASSERT_EQ(symlink("round", in("round").c_str()), 0);
  EXPECT_EQ(RealPath(in("way/../a//b/./f")).value(), root + "/a/b/f");
  EXPECT_EQ(RealPath(in("way/to")).value(), root + "/later");
  EXPECT_EQ(RealPath(in("way/none/more/f")).value(), root + "/a/none/more/f");
  EXPECT_EQ(RealPath(in("way/")).value(), root + "/a");
  EXPECT_EQ(RealPath("/").value(), "/");
  EXPECT_TRUE(RealPath("f")->ends_with("/f"));
  EXPECT_FALSE(RealPath(in("round")).ok());
  EXPECT_TRUE(RemoveTree(made).ok());
}

}  // namespace
}  // namespace partita::base
