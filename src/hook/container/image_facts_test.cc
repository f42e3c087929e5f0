#include "hook/container/image_facts.h"

#include <sys/stat.h>

#include "base/text.h"
#include "hook/container/container_fixture.h"
#include "hook/container/image_file.h"

namespace partita::hook {
namespace {

using Words = std::vector<std::string>;

class ImageFactsTest : public ContainerTest {
 protected:
  base::Result<ImageFacts> Facts() const { return ReadImageFacts(Root()); }
};

TEST_F(ImageFactsTest, FollowsIncludesInOrder) {
  Write("in/etc/ld.so.conf",
        "/first # why\ninclude ld.so.conf.d/*.conf /etc/more\n\nhwcap 0 x\n/last/\n");
  Write("in/etc/ld.so.conf.d/b.conf", "/b\n/first\n");
  Write("in/etc/ld.so.conf.d/a.conf", "/a\n");
  Write("in/etc/ld.so.conf.d/not.txt", "/not\n");
  Write("in/etc/more", "# nothing\n\t/more\t\n");
  Write("in/etc/debian_version", "12\n");
  const ImageFacts facts = *Facts();
  EXPECT_EQ(facts.listed, (Words{"/first", "/last", "/a", "/b", "/more"}));
  EXPECT_TRUE(facts.debian_like);
  EXPECT_TRUE(facts.has_ld_conf);
  EXPECT_FALSE(facts.musl);
}

TEST_F(ImageFactsTest, AnEmptyImageHasNothing) {
  const ImageFacts facts = *Facts();
  EXPECT_EQ(facts.listed, Words{});
  EXPECT_FALSE(facts.has_ld_conf);
  EXPECT_FALSE(facts.debian_like);
}

TEST_F(ImageFactsTest, WhatIsOutsideIsNotRead) {
  Link(Path("host/secret"), "in/etc/ld.so.conf");
  EXPECT_EQ(Facts()->listed, Words{});
}

TEST_F(ImageFactsTest, APipeIsRefusedAndNotWaitedFor) {
  Write("in/etc/ld.so.conf", "include /etc/pipe\n");
  ASSERT_EQ(mkfifo(Path("in/etc/pipe").c_str(), 0644), 0);
  EXPECT_EQ(Told(Facts()), "/etc/pipe in " + Path("in") + " is no regular file");
}

TEST_F(ImageFactsTest, LargeFilesAndManyFilesAreRefused) {
  Write("in/etc/ld.so.conf", std::string((1 << 20) + 1, '\n'));
  EXPECT_EQ(Told(Facts()), "/etc/ld.so.conf in " + Path("in") + " has more than 1048576 bytes");
  Write("in/etc/ld.so.conf", "include /etc/d/*\n");
  for (int i = 0; i < 256; ++i) Write("in/etc/d/" + std::to_string(i), "");
  EXPECT_EQ(Told(Facts()), "/etc/ld.so.conf includes more than 256 files, or itself");
}

// ldconfig itself would go on until a limit ends it.
TEST_F(ImageFactsTest, CirclesAreRefused) {
  Write("in/etc/ld.so.conf", "include /etc/a\n");
  Write("in/etc/a", "include /etc/b /etc/b\n");
  Write("in/etc/b", "include /etc/a\n");
  EXPECT_EQ(Told(Facts()), "/etc/ld.so.conf includes more than 256 files, or itself");
}

TEST_F(ImageFactsTest, PatternsAreFollowedInEveryComponent) {
  Write("in/etc/ld.so.conf", "include /e*/d/?\n");
  Write("in/etc/d/x", "/x\n");
  EXPECT_EQ(Facts()->listed, (Words{"/x"}));
  Write("in/etc/d/x", "include /e*c/ld.so.conf\n");
  EXPECT_EQ(Told(Facts()), "/etc/ld.so.conf includes more than 256 files, or itself");
}

// What glob(3) understands and we do not would be read by ldconfig alone.
TEST_F(ImageFactsTest, OtherPatternsAreRefused) {
  ASSERT_TRUE(base::MakeDirectories(Path("in/etc"), 0755).ok());
  ASSERT_EQ(mkfifo(Path("in/etc/fifo").c_str(), 0644), 0);
  for (const char* pattern : {"/etc/fif[o]", "/et[c]/fifo", "/etc/fif\\o"}) {
    Write("in/etc/ld.so.conf", std::string("include /etc/none ") + pattern + "\n");
    EXPECT_EQ(Told(Facts()), "/etc/ld.so.conf includes " + base::Quoted(pattern) +
                                 ": only * and ? are understood in patterns");
  }
}

// Lines as ldconfig sees them: C strings, of words between spaces and tabs.
TEST_F(ImageFactsTest, WhatALineHidesIsSeen) {
  ASSERT_TRUE(base::MakeDirectories(Path("in/etc"), 0755).ok());
  ASSERT_EQ(mkfifo(Path("in/etc/fifo").c_str(), 0644), 0);
  ASSERT_EQ(mkfifo(Path("in/etc/fifo\v").c_str(), 0644), 0);
  Write("in/etc/ld.so.conf", std::string_view("include /etc/fifo\0x\n", 20));
  EXPECT_EQ(Told(Facts()), "/etc/fifo in " + Path("in") + " is no regular file");
  Write("in/etc/ld.so.conf", "\vinclude\t/etc/fifo\v");
  EXPECT_EQ(Told(Facts()), "/etc/fifo\v in " + Path("in") + " is no regular file");
}

TEST_F(ImageFactsTest, WhatIsListedHasAnEnd) {
  std::string lines;
  for (int i = 0; i < 1024; ++i) lines += "/d" + std::to_string(i) + "\n";
  Write("in/etc/ld.so.conf", lines + lines);
  EXPECT_EQ(Facts()->listed.size(), 1024U);
  Write("in/etc/ld.so.conf", lines + "/one-more\n");
  EXPECT_EQ(Told(Facts()), "/etc/ld.so.conf lists more than 1024 directories");

  Write("in/etc/ld.so.conf", "include /etc/d/*\n");
  for (const char* name : {"a", "b", "c"})
    Write(std::string("in/etc/d/") + name, std::string(400000, '#'));
  EXPECT_EQ(Told(Facts()), "/etc/ld.so.conf and what it includes have more than 1048576 bytes");
}

TEST_F(ImageFactsTest, SearchesHaveAnEnd) {
  std::string lines;
  for (int i = 0; i < 300; ++i) lines += "include /etc/none*\n";
  Write("in/etc/ld.so.conf", lines);
  for (int i = 0; i < 300; ++i) Write("in/etc/" + std::to_string(i), "");
  EXPECT_EQ(Told(Facts()), "/etc/ld.so.conf: /etc/none* is sought among more than 65536 names");
}

TEST_F(ImageFactsTest, FilesOfTheKernelAreNotRead) {
  Link("/proc/version", "etc/x");
  const base::RootDir host = *base::RootDir::Open("/");
  EXPECT_EQ(Told(ReadImageText(host, Path("etc/x"), 4096)),
            Path("etc/x") + " is of the kernel, not of the image");
}

TEST(PlanLoaderFiles, LeavesOutWhatIsListed) {
  ImageFacts image;
  image.has_ld_conf = image.debian_like = true;
  image.listed = {"/listed"};
  const LoaderFiles files =
      PlanLoaderFiles(image, Words{"/listed", "/opt/new", "/usr/lib", "/opt/new"});
  EXPECT_EQ(files.folders, (Words{"/opt/new"}));
  EXPECT_EQ(files.system, SystemDirectories(true));
  EXPECT_FALSE(files.make_ld_conf);
  EXPECT_EQ(files.musl, Words{});
}

// What a second start of the same container finds.
TEST(PlanLoaderFiles, TheSecondTimeNothingIsLeftToDo) {
  ImageFacts image;
  image.has_ld_conf = true;
  image.listed = SystemDirectories(false);
  image.listed.insert(image.listed.begin(), "/opt/new");
  EXPECT_EQ(PlanLoaderFiles(image, Words{"/opt/new"}), LoaderFiles{});
}

TEST(PlanLoaderFiles, AlpineHasAPathFileToo) {
  ImageFacts image;
  image.musl = true;
  image.musl_path = {"/lib", "/usr/lib"};
  const LoaderFiles files = PlanLoaderFiles(image, Words{"/opt/new"});
  EXPECT_TRUE(files.make_ld_conf);
  EXPECT_EQ(files.musl.front(), "/opt/new");
  EXPECT_EQ(std::count(files.musl.begin(), files.musl.end(), "/lib"), 0);
  EXPECT_EQ(std::count(files.musl.begin(), files.musl.end(), "/usr/lib64"), 1);
}

}  // namespace
}  // namespace partita::hook
