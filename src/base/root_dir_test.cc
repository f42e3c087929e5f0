#include "base/root_dir.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::base {
namespace {

// `in` is the root; `out`, beside it, is what nobody may reach.
class RootDirTest : public testing::Test {
 protected:
  RootDirTest() {
    std::string pattern = testing::TempDir() + "/partita-root-XXXXXX";
    top_ = mkdtemp(pattern.data());
    Make("in/etc");
    Make("in/usr/lib");
    Make("out");
    Write("out/secret", "secret");
    Write("in/etc/name", "inside");
  }
  void TearDown() override { EXPECT_TRUE(RemoveTree(top_).ok()); }

  void Make(const std::string& path) {
    ASSERT_TRUE(MakeDirectories(JoinPath(top_, path), 0755).ok());
  }
  void Write(const std::string& path, std::string_view bytes) {
    ASSERT_TRUE(WriteFile(JoinPath(top_, path), bytes, 0644).ok());
  }
  void Link(const std::string& target, const std::string& path) {
    ASSERT_EQ(symlink(target.c_str(), JoinPath(top_, path).c_str()), 0);
  }
  std::string Outside(const std::string& path) const {
    return ReadFile(JoinPath(top_, path)).ok() ? *ReadFile(JoinPath(top_, path)) : "(absent)";
  }
  RootDir Root() const { return *RootDir::Open(top_ + "/in"); }
  std::string Named(const std::string& path) const { return path + " in " + top_ + "/in"; }

  std::string top_;
};

template <typename T>
std::string Told(const Result<T>& result) {
  return result.ok() ? "(no error)" : result.error().ToString();
}
template <typename T>
ErrorCode Code(const Result<T>& result) {
  return result.ok() ? ErrorCode::kInternal : result.error().code();
}

TEST_F(RootDirTest, TestsRunWithAndWithoutTheKernelsHelp) {
  EXPECT_EQ(HasOpenat2(), std::getenv("PARTITA_WITHOUT_SYSCALL") == nullptr);
}

TEST_F(RootDirTest, ReadsBelowTheRoot) {
  EXPECT_EQ(*Root().Read("/etc/name", 100), "inside");
  EXPECT_EQ(*Root().Read("etc/./name", 100), "inside");
  EXPECT_EQ(Told(Root().Read("/etc/none", 100)),
            "open " + Named("/etc/none") + ": No such file or directory (errno 2)");
  EXPECT_EQ(Code(Root().Read("/etc/none", 100)), ErrorCode::kNotFound);
}

TEST_F(RootDirTest, LinksAndDotsNeverLeadOut) {
  Link(top_ + "/out", "in/absolute");
  Link("../../../../../../../out", "in/relative");
  Link("/", "in/all");
  Link("../..", "in/etc/up");
  Link(top_ + "/out/secret", "in/etc/secret");
  for (const char* path :
       {"/absolute/secret", "/relative/secret", "/etc/secret", "/../out/secret",
        "/etc/../../out/secret", "/all/../out/secret", "/etc/up/out/secret", "../out/secret"}) {
    EXPECT_EQ(Code(Root().Read(path, 100)), ErrorCode::kNotFound) << path;
    EXPECT_EQ(Code(Root().Resolve(path)), ErrorCode::kNotFound) << path;
  }
  EXPECT_EQ(*Root().Read("/all/../all/etc/up/../etc/name", 100), "inside");
}

TEST_F(RootDirTest, AbsoluteLinksCountFromTheRoot) {
  Link("/etc", "in/config");
  Link("/usr", "in/usr/lib/back");
  EXPECT_EQ(*Root().Read("/config/name", 100), "inside");
  EXPECT_EQ(*Root().Resolve("/config/../config/name"), "/etc/name");
  EXPECT_EQ(*Root().Resolve("/usr/lib/back/lib"), "/usr/lib");
  EXPECT_EQ(*Root().Resolve("/"), "/");
  EXPECT_EQ(*Root().Resolve(""), "/");
}

TEST_F(RootDirTest, LoopsEnd) {
  Link("b", "in/a");
  Link("a", "in/b");
  EXPECT_EQ(Root().Read("/a", 10).error().native()->value, ELOOP);
  EXPECT_EQ(Root().Resolve("/a").error().native()->value, ELOOP);
  EXPECT_EQ(Root().MakeDirectories("/a/c", 0755).error().native()->value, ELOOP);
}

// /proc/self/root is a door out of every tree.
TEST_F(RootDirTest, LinksOfProcessesAreNotFollowed) {
  const RootDir host = *RootDir::Open("/");
  EXPECT_EQ(host.OpenAt("/proc/self/root/etc", O_PATH).error().native()->value, ELOOP);
  EXPECT_EQ(host.Resolve("/proc/self/cwd").error().native()->value, ELOOP);
  EXPECT_TRUE(host.OpenAt("/proc/self/status", O_PATH).ok());
}

TEST_F(RootDirTest, OddPathsAreInvalid) {
  using namespace std::string_literals;
  for (const std::string& path :
       {"/etc/na\0me"s, "/" + std::string(256, 'x'), "/" + std::string(5000, '/')}) {
    EXPECT_EQ(Code(Root().OpenAt(path, O_PATH)), ErrorCode::kInvalid);
    EXPECT_EQ(Code(Root().Resolve(path)), ErrorCode::kInvalid);
    EXPECT_EQ(Code(Root().MakeDirectories(path, 0755)), ErrorCode::kInvalid);
    EXPECT_EQ(Code(Root().PutLink("x", path)), ErrorCode::kInvalid);
    EXPECT_EQ(Code(Root().PutLink(path, "/x")), ErrorCode::kInvalid);
    EXPECT_EQ(Code(Root().WriteNew(path, "", 0644)), ErrorCode::kInvalid);
  }
  EXPECT_TRUE(Root().WriteNew("/" + std::string(255, 'x'), "", 0644).ok());
}

TEST_F(RootDirTest, LooksAtTheLastComponentItself) {
  Link("/etc/name", "in/link");
  EXPECT_TRUE(Root().Look("/link")->IsLink());
  EXPECT_TRUE(Root().Look("/etc/name")->IsRegular());
  EXPECT_EQ(Root().Look("/etc/name")->size, 6U);
  EXPECT_TRUE(Root().Look("/etc")->IsDirectory());
  EXPECT_TRUE(RootDir::Open("/")->Look("/dev/null")->IsCharDevice());
  EXPECT_EQ(RootDir::Open("/")->Look("/dev/null")->device, makedev(1, 3));
  EXPECT_EQ(*Root().ReadLink("/link"), "/etc/name");
  EXPECT_EQ(Told(Root().ReadLink("/etc")),
            "read link " + Named("/etc") + ": Invalid argument (errno 22)");
}

TEST_F(RootDirTest, ReadsRegularFilesOnlyAndNeverWaits) {
  ASSERT_EQ(mkfifo((top_ + "/in/pipe").c_str(), 0644), 0);
  EXPECT_EQ(Told(Root().Read("/pipe", 10)), Named("/pipe") + " is no regular file");
  EXPECT_EQ(Told(Root().Read("/etc", 10)), Named("/etc") + " is no regular file");
  EXPECT_EQ(Told(RootDir::Open("/")->Read("/dev/zero", 10)), "/dev/zero is no regular file");
  EXPECT_EQ(Told(Root().Read("/etc/name", 5)), Named("/etc/name") + " has more than 5 bytes");
  EXPECT_EQ(*Root().Read("/etc/name", 6), "inside");
  EXPECT_NE(RootDir::Open("/")->Read("/proc/self/status", 100000)->find("Name:"),
            std::string::npos);
}

TEST_F(RootDirTest, ListsSorted) {
  Write("in/etc/a", "");
  Write("in/etc/B", "");
  EXPECT_EQ(*Root().List("/etc"), (std::vector<std::string>{"B", "a", "name"}));
  EXPECT_EQ(Code(Root().List("/none")), ErrorCode::kNotFound);
  EXPECT_EQ(Root().List("/etc/name").error().native()->value, ENOTDIR);
}

TEST_F(RootDirTest, FindsByPattern) {
  for (const char* name :
       {"in/usr/lib/libcuda.so.1", "in/usr/lib/libcuda.so.550.1", "in/usr/lib/.so"})
    Write(name, "");
  Link("nowhere", "in/usr/lib/libcuda.so");
  Link(top_ + "/out", "in/usr/door");
  const RootDir root = Root();
  using Names = std::vector<std::string>;
  EXPECT_EQ(root.Glob("/usr/lib/libcuda.so.*"),
            (Names{"/usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.550.1"}));
  EXPECT_EQ(root.Glob("/usr/lib/libcuda.so.?"), (Names{"/usr/lib/libcuda.so.1"}));
  EXPECT_EQ(root.Glob("/*/lib/*so"), (Names{"/usr/lib/.so", "/usr/lib/libcuda.so"}));
  EXPECT_EQ(root.Glob("/u*/l?b/*.550.*"), (Names{"/usr/lib/libcuda.so.550.1"}));
  EXPECT_EQ(root.Glob("/etc/name"), (Names{"/etc/name"}));
  EXPECT_EQ(root.Glob("/usr/door/*"), Names{});
  EXPECT_EQ(root.Glob("/../*/secret"), Names{});
  EXPECT_EQ(root.Glob("/none/*"), Names{});
}

TEST_F(RootDirTest, MakesDirectoriesBelowTheRoot) {
  const Result<UniqueFd> made = Root().MakeDirectories("/etc/a/b", 0750);
  ASSERT_TRUE(made.ok());
  struct stat about = {}, wanted = {};
  EXPECT_EQ(fstat(made->get(), &about), 0);
  EXPECT_EQ(stat((top_ + "/in/etc/a/b").c_str(), &wanted), 0);
  EXPECT_EQ(about.st_ino, wanted.st_ino);
  EXPECT_EQ(wanted.st_mode & 07777, 0750U);
  EXPECT_TRUE(Root().MakeDirectories("/etc/a/b", 0755).ok());
  EXPECT_EQ(Root().MakeDirectories("/etc/name/b", 0755).error().native()->value, ENOTDIR);
  EXPECT_EQ(Root().MakeDirectories("/etc/name", 0755).error().native()->value, ENOTDIR);
}

TEST_F(RootDirTest, MakesInsideWhatALinkWouldHaveReachedOutside) {
  Link(top_ + "/out", "in/door");
  Link("../../../../out", "in/etc/up");
  ASSERT_TRUE(Root().MakeDirectories("/door/made", 0755).ok());
  ASSERT_TRUE(Root().MakeDirectories("/etc/up/made", 0755).ok());
  ASSERT_TRUE(Root().MakeDirectories("/../../out/made", 0755).ok());
  EXPECT_EQ(*ListDirectory(top_ + "/out"), (std::vector<std::string>{"secret"}));
  EXPECT_TRUE(Exists(top_ + "/in" + top_ + "/out/made"));
  EXPECT_TRUE(Exists(top_ + "/in/out/made"));
}

TEST_F(RootDirTest, WritesOnlyWhatIsNew) {
  ASSERT_TRUE(Root().WriteNew("/etc/new", "text", 0444).ok());
  EXPECT_EQ(Outside("in/etc/new"), "text");
  EXPECT_EQ(Root().Look("/etc/new")->mode & 07777, 0444U);
  EXPECT_EQ(Told(Root().WriteNew("/etc/new", "other", 0644)),
            Named("/etc/new") + " is there already");
  EXPECT_EQ(Code(Root().WriteNew("/etc/new", "other", 0644)), ErrorCode::kConflict);
  Link(top_ + "/out/secret", "in/etc/link");
  EXPECT_EQ(Code(Root().WriteNew("/etc/link", "other", 0644)), ErrorCode::kConflict);
  EXPECT_EQ(Code(Root().WriteNew("/none/new", "other", 0644)), ErrorCode::kNotFound);
  for (const char* path : {"/etc/", "/", "", "/etc/.."})
    EXPECT_EQ(Code(Root().WriteNew(path, "other", 0644)), ErrorCode::kInvalid) << path;
  EXPECT_EQ(Outside("out/secret"), "secret");
}

TEST_F(RootDirTest, WritesInsideThroughALinkedDirectory) {
  Link(top_ + "/out", "in/door");
  EXPECT_EQ(Code(Root().WriteNew("/door/new", "x", 0644)), ErrorCode::kNotFound);
  Link("/etc", "in/config");
  EXPECT_TRUE(Root().WriteNew("/config/new", "x", 0644).ok());
  EXPECT_EQ(Outside("in/etc/new"), "x");
}

TEST_F(RootDirTest, ReplacesFilesAndLinksThemselves) {
  Link(top_ + "/out/secret", "in/etc/link");
  for (const char* path : {"/etc/name", "/etc/link", "/etc/fresh"}) {
    ASSERT_TRUE(Root().Replace(path, "new", 0444).ok()) << path;
    EXPECT_EQ(*Root().Read(path, 10), "new");
    EXPECT_TRUE(Root().Look(path)->IsRegular());
    EXPECT_EQ(Root().Look(path)->mode & 07777, 0444U);
  }
  EXPECT_EQ(Outside("out/secret"), "secret");
  EXPECT_EQ(Root().Replace("/usr/lib", "new", 0444).error().native()->value, EISDIR);
  EXPECT_EQ(*ListDirectory(top_ + "/in/usr"), (std::vector<std::string>{"lib"}));
}

TEST_F(RootDirTest, PutsLinks) {
  ASSERT_TRUE(Root().PutLink("libcuda.so.1", "/usr/lib/deep/libcuda.so").ok());
  EXPECT_EQ(*ReadLink(top_ + "/in/usr/lib/deep/libcuda.so"), "libcuda.so.1");
  EXPECT_EQ(*ListDirectory(top_ + "/in/usr/lib/deep"), (std::vector<std::string>{"libcuda.so"}));
  // In the place of a file, and of a link that leads out; the text is kept as it was given.
  ASSERT_TRUE(Root().PutLink("../../x", "/etc/name").ok());
  EXPECT_EQ(*ReadLink(top_ + "/in/etc/name"), "../../x");
  Link(top_ + "/out/secret", "in/etc/link");
  ASSERT_TRUE(Root().PutLink("here", "/etc/link").ok());
  EXPECT_EQ(*ReadLink(top_ + "/in/etc/link"), "here");
  EXPECT_EQ(Outside("out/secret"), "secret");
  EXPECT_EQ(Told(Root().PutLink("x", "/usr/lib")),
            "replace " + Named("/usr/lib") + ": Is a directory (errno 21)");
  EXPECT_EQ(*ListDirectory(top_ + "/in/usr"), (std::vector<std::string>{"lib"}));
}

TEST_F(RootDirTest, ALinkThatIsThereIsLeftAlone) {
  ASSERT_TRUE(Root().PutLink("a", "/etc/link").ok());
  struct stat before = {}, after = {};
  ASSERT_EQ(lstat((top_ + "/in/etc/link").c_str(), &before), 0);
  ASSERT_TRUE(Root().PutLink("a", "/etc/link").ok());
  ASSERT_EQ(lstat((top_ + "/in/etc/link").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(RootDirTest, PutsLinksOneAfterTheOther) {
  Link("usr", "in/door");
  const RootDir::NewLink links[] = {{"1", "/usr/lib/a"},  {"2", "/usr/lib/b"}, {"3", "/usr/lib/a"},
                                    {"4", "/usr/new/c"},  {"5", "d"},          {"6", "e"},
                                    {"7", "/door/lib/f"}, {"8", "/../out/g"}};
  ASSERT_TRUE(Root().PutLinks(links).ok());
  for (const auto& [text, path] :
       {std::pair("3", "/usr/lib/a"), std::pair("2", "/usr/lib/b"), std::pair("4", "/usr/new/c"),
        std::pair("5", "/d"), std::pair("6", "/e"), std::pair("7", "/usr/lib/f"),
        std::pair("8", "/out/g")})
    EXPECT_EQ(*Root().ReadLink(path), text) << path;
  // Each is checked, whether its folder is known or not.
  for (const char* bad : {"/etc/", "/etc/.", "/etc/.."}) {
    const RootDir::NewLink two[] = {{"1", "/etc/before"}, {"2", bad}, {"3", "/etc/after"}};
    EXPECT_EQ(Code(Root().PutLinks(two)), ErrorCode::kInvalid) << bad;
  }
  const RootDir::NewLink target[] = {{"1", "/etc/before"}, {std::string_view("\0x", 2), "/etc/x"}};
  EXPECT_EQ(Code(Root().PutLinks(target)), ErrorCode::kInvalid);
  const std::string longer = "/etc/" + std::string(256, 'x');
  const RootDir::NewLink name[] = {{"1", "/etc/before"}, {"2", longer}};
  EXPECT_EQ(Code(Root().PutLinks(name)), ErrorCode::kInvalid);
  EXPECT_FALSE(Root().Look("/etc/after").ok());
}

TEST_F(RootDirTest, TakesADescriptor) {
  UniqueFd directory(open((top_ + "/in").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const RootDir root = *RootDir::At(std::move(directory), "the image");
  EXPECT_EQ(*root.Read("/etc/name", 100), "inside");
  EXPECT_EQ(Told(root.Read("/x", 1)), "open /x in the image: No such file or directory (errno 2)");
  EXPECT_EQ(Told(RootDir::At(UniqueFd(open("/dev/null", O_PATH | O_CLOEXEC)), "x")),
            "open directory x: Not a directory (errno 20)");
  EXPECT_EQ(Told(RootDir::Open(top_ + "/none")),
            "open directory " + top_ + "/none: No such file or directory (errno 2)");
}

// /proc stands for a volume: every machine has it mounted.
TEST_F(RootDirTest, NoLinkLeadsAChangeToAnotherMount) {
  const RootDir host = *RootDir::Open("/");
  ASSERT_FALSE(*host.IsOnOwnMount("/proc"));
  EXPECT_TRUE(host.OpenToChange("/proc").ok());
  Link("/proc", "in/out");
  Link("out", "in/further");
  Link("../in/etc", "in/inside");
  for (const char* name : {"/in/out", "/in/further", "/in/out/new", "/in/inside/../further/new"}) {
    const std::string path = top_ + name;
    const std::string told = "a link in " + path + " leads to another mount: nothing is written";
    EXPECT_EQ(Told(host.MakeDirectories(path, 0755)), told);
    EXPECT_FALSE(host.WriteNew(path + "/file", "x", 0644).ok());
    EXPECT_FALSE(host.Replace(path + "/file", "x", 0644).ok());
    EXPECT_EQ(Code(host.PutLink("x", path + "/file")), ErrorCode::kInvalid);
  }
  Link("/proc/version", "in/file");
  EXPECT_EQ(Code(host.Rewrite(top_ + "/in/file", "x", 0644)), ErrorCode::kInvalid);
  EXPECT_TRUE(host.WriteNew(top_ + "/in/inside/new", "x", 0644).ok());
  EXPECT_TRUE(*Root().IsOnOwnMount("/etc"));
}

TEST_F(RootDirTest, RewritingKeepsModeAndLinks) {
  Write("in/real", "old");
  ASSERT_EQ(chmod((top_ + "/in/real").c_str(), 0640), 0);
  Link("real", "in/link");
  ASSERT_TRUE(Root().Rewrite("/link", "new", 0644).ok());
  EXPECT_EQ(*Root().Read("/real", 10), "new");
  EXPECT_EQ(Root().Look("/real")->mode & 07777, 0640U);
  EXPECT_TRUE(Root().Look("/link")->IsLink());
  ASSERT_TRUE(Root().Rewrite("/fresh", "x", 0604).ok());
  EXPECT_EQ(Root().Look("/fresh")->mode & 07777, 0604U);
  EXPECT_FALSE(Root().Rewrite("/", "x", 0644).ok());
}

TEST_F(RootDirTest, ASearchMayHaveAnEnd) {
  for (const char* name : {"in/a1", "in/a2", "in/b"}) Write(name, "");
  std::size_t left = 10;
  EXPECT_EQ(*Root().GlobWithin("/a*", left), (std::vector<std::string>{"/a1", "/a2"}));
  EXPECT_EQ(left, 5U);  // etc and usr too
  EXPECT_TRUE(Root().GlobWithin("/none/*", left).ok());
  EXPECT_TRUE(Root().GlobWithin("/a*", left).ok());
  EXPECT_EQ(Told(Root().GlobWithin("/a*", left)), Named("/") + " has more than 0 names");
}

}  // namespace
}  // namespace partita::base
