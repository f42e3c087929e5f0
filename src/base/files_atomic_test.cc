// WriteFileAtomically on paths that people name: devices, pipes, links, directories of others.
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/unique_fd.h"

namespace partita::base {
namespace {

// The numbers that names are made of next, the last one first; after them they are the kernel's.
std::vector<std::uint64_t> g_next_numbers;

}  // namespace
}  // namespace partita::base

// In place of libc's, for this program alone.
extern "C" ssize_t getrandom(void* buffer, size_t size, unsigned flags) {
  std::vector<std::uint64_t>& next = partita::base::g_next_numbers;
  if (next.empty() || size != sizeof next.back())
    return syscall(SYS_getrandom, buffer, size, flags);
  std::memcpy(buffer, &next.back(), size);
  next.pop_back();
  return static_cast<ssize_t>(size);
}

namespace partita::base {
namespace {

constexpr uid_t kSomebodyElse = 65534;

class AtomicWrite : public testing::Test {
 protected:
  AtomicWrite() {
    std::string pattern = testing::TempDir() + "/partita-atomic-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  void TearDown() override { EXPECT_TRUE(RemoveTree(root_).ok()); }

  std::string Path(const std::string& name) const { return root_ + "/" + name; }
  std::vector<std::string> Names() const { return *ListDirectory(root_); }

  static struct stat About(const std::string& path) {
    struct stat about = {};
    EXPECT_EQ(lstat(path.c_str(), &about), 0) << path;
    return about;
  }

  std::string root_;
};

// A copy of /dev/null: the machine's own is not for tests.
TEST_F(AtomicWrite, WritesIntoADeviceAndLeavesItOne) {
  if (geteuid() != 0) GTEST_SKIP() << "only root makes device nodes";
  ASSERT_EQ(mknod(Path("null").c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
  const Result<void> written = WriteFileAtomically(Path("null"), "x", 0600);
  EXPECT_TRUE(written.ok()) << written.error().ToString();
  EXPECT_TRUE(S_ISCHR(About(Path("null")).st_mode));
  EXPECT_EQ(Names(), std::vector<std::string>{"null"});
  ASSERT_EQ(mknod(Path("full").c_str(), S_IFCHR | 0666, makedev(1, 7)), 0);
  EXPECT_EQ(WriteFileAtomically(Path("full"), "x", 0600).error().ToString(),
            "write " + Path("full") + ": No space left on device (errno 28)");
}

TEST_F(AtomicWrite, WritesIntoAPipe) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const UniqueFd reader(open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(WriteFileAtomically(Path("pipe"), "words", 0600).ok());
  std::array<char, 8> read_back{};
  EXPECT_EQ(read(reader.get(), read_back.data(), read_back.size()), 5);
  EXPECT_EQ(std::string(read_back.data()), "words");
  EXPECT_TRUE(S_ISFIFO(About(Path("pipe")).st_mode));
}

TEST_F(AtomicWrite, ReplacesWhatLinksPointToAndKeepsThem) {
  ASSERT_TRUE(MakeDirectories(Path("d"), 0755).ok());
  ASSERT_TRUE(WriteFile(Path("d/f"), "old", 0644).ok());
  ASSERT_EQ(symlink("d/f", Path("relative").c_str()), 0);
  ASSERT_EQ(symlink(Path("relative").c_str(), Path("absolute").c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(Path("absolute"), "new", 0640).ok());
  EXPECT_EQ(*ReadFile(Path("d/f")), "new");
  EXPECT_EQ(About(Path("d/f")).st_mode, S_IFREG | 0640U);
  EXPECT_EQ(*ReadLink(Path("relative")), "d/f");
  EXPECT_EQ(*ReadLink(Path("absolute")), Path("relative"));
  EXPECT_EQ(*ListDirectory(Path("d")), std::vector<std::string>{"f"});

  ASSERT_EQ(symlink("d/not-yet", Path("dangling").c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(Path("dangling"), "made", 0600).ok());
  EXPECT_EQ(*ReadFile(Path("d/not-yet")), "made");
  EXPECT_TRUE(S_ISLNK(About(Path("dangling")).st_mode));

  ASSERT_EQ(symlink("round", Path("round").c_str()), 0);
  EXPECT_EQ(WriteFileAtomically(Path("round"), "x", 0600).error().ToString(),
            "follow " + Path("round") + ": Too many levels of symbolic links (errno 40)");
}

TEST_F(AtomicWrite, WritesIntoAnOpenDescriptorWhereItStands) {
  UniqueFd fd(open(Path("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(write(fd.get(), "before ", 7), 7);
  ASSERT_EQ(symlink("/proc/self/fd", Path("fds").c_str()), 0);
  for (const std::string& path :
       {fmt::format("/dev/fd/{}", fd.get()), fmt::format("/proc/self/fd/{}", fd.get()),
        fmt::format("/proc/{}/fd/{}", getpid(), fd.get()), Path(fmt::format("fds/{}", fd.get()))}) {
    const Result<void> written = WriteFileAtomically(path, "x", 0644);
    EXPECT_TRUE(written.ok()) << written.error().ToString();
  }
  ASSERT_EQ(write(fd.get(), " after", 6), 6);
  EXPECT_EQ(*ReadFile(Path("f")), "before xxxx after");
  EXPECT_EQ(About(Path("f")).st_mode, S_IFREG | 0600U);

  // What has no name at all: a pipe, as /dev/stdout often is.
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reading(ends[0]), writing(ends[1]);
  ASSERT_EQ(symlink(fmt::format("/proc/self/fd/{}", writing.get()).c_str(), Path("out").c_str()),
            0);
  EXPECT_TRUE(WriteFileAtomically(Path("out"), "piped", 0600).ok());
  std::array<char, 8> read_back{};
  EXPECT_EQ(read(reading.get(), read_back.data(), read_back.size()), 5);
  EXPECT_TRUE(S_ISLNK(About(Path("out")).st_mode));
}

// Whoever may write the directory tries every name that this process could have chosen before.
TEST_F(AtomicWrite, TakesTheModeOfTheOldFileUnlessTheFileIsOurs) {
  ASSERT_TRUE(WriteFile(Path("file"), "old", 0600).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "new", 0644).ok());
  EXPECT_EQ(About(Path("file")).st_mode & 0777U, 0600U);
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "ours", 0644, Heritage::kNothing).ok());
  EXPECT_EQ(About(Path("file")).st_mode & 0777U, 0644U);
}

TEST_F(AtomicWrite, UsesNoFileThatSomebodyElseMade) {
  if (geteuid() != 0) GTEST_SKIP() << "only root makes files of others";
  ASSERT_EQ(chmod(root_.c_str(), 01777), 0);
  for (int i = 0; i < 64; ++i) {
    const std::string trap = Path(fmt::format("f.{}.{}.new", getpid(), i));
    ASSERT_TRUE(WriteFile(trap, "", 0666).ok());
    ASSERT_EQ(chown(trap.c_str(), kSomebodyElse, kSomebodyElse), 0);
  }
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "root's", 0600).ok());
  EXPECT_EQ(About(Path("f")).st_uid, 0U);
  EXPECT_EQ(About(Path("f")).st_mode, S_IFREG | 0600U);
  EXPECT_EQ(*ReadFile(Path("f")), "root's");
  EXPECT_EQ(Names().size(), 65U);
}

// Whoever guesses the name after all: a file of theirs, and a link to one of root's.
TEST_F(AtomicWrite, UsesNoFileThatWasThereUnderItsName) {
  if (geteuid() != 0) GTEST_SKIP() << "only root makes files of others";
  const std::string guessed = ".partita-0000000000000001.new";
  const std::string linked = ".partita-0000000000000002.new";
  ASSERT_TRUE(WriteFile(Path("secret"), "kept", 0600).ok());
  ASSERT_TRUE(WriteFile(Path(guessed), "", 0666).ok());
  ASSERT_EQ(chown(Path(guessed).c_str(), kSomebodyElse, kSomebodyElse), 0);
  ASSERT_EQ(symlink("secret", Path(linked).c_str()), 0);
  g_next_numbers = {3, 2, 1};
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "root's", 0600).ok());
  EXPECT_TRUE(g_next_numbers.empty());
  EXPECT_EQ(About(Path("f")).st_uid, 0U);
  EXPECT_EQ(*ReadFile(Path("f")), "root's");
  EXPECT_EQ(*ReadFile(Path(guessed)), "");
  EXPECT_EQ(*ReadFile(Path("secret")), "kept");
  EXPECT_EQ(Names(), (std::vector<std::string>{guessed, linked, "f", "secret"}));
}

// As the kernel does where fs.protected_symlinks is on, which is not everywhere.
TEST_F(AtomicWrite, FollowsNoLinkThatSomebodyElsePutIntoAPublicDirectory) {
  if (geteuid() != 0) GTEST_SKIP() << "only root makes links of others";
  ASSERT_TRUE(MakeDirectories(Path("public"), 0755).ok());
  ASSERT_EQ(chmod(Path("public").c_str(), 01777), 0);
  ASSERT_TRUE(WriteFile(Path("secret"), "kept", 0600).ok());
  ASSERT_EQ(symlink("../secret", Path("public/f").c_str()), 0);
  ASSERT_EQ(lchown(Path("public/f").c_str(), kSomebodyElse, kSomebodyElse), 0);
  const Result<void> written = WriteFileAtomically(Path("public/f"), "lost", 0600);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code(), ErrorCode::kDenied);
  EXPECT_EQ(written.error().ToString(),
            Path("public/f") +
                " is a link that user 65534 put into a directory that everybody may write: not "
                "followed");
  EXPECT_EQ(written.error().hint(), "name the file itself, or one in a directory of your own");
  EXPECT_EQ(*ReadFile(Path("secret")), "kept");
  // One's own is one's own business.
  ASSERT_EQ(lchown(Path("public/f").c_str(), 0, 0), 0);
  EXPECT_TRUE(WriteFileAtomically(Path("public/f"), "written", 0600).ok());
  EXPECT_EQ(*ReadFile(Path("secret")), "written");
}

TEST_F(AtomicWrite, TakesNamesAsLongAsTheyMayBe) {
  const std::string longest(255, 'n');
  EXPECT_TRUE(WriteFileAtomically(Path(longest), "x", 0600).ok());
  EXPECT_EQ(Names(), std::vector<std::string>{longest});
}

}  // namespace
}  // namespace partita::base
