#include "hook/cdi/cuda_compat.h"

#include <sys/stat.h>

#include "hook/container/container_fixture.h"

namespace partita::hook {
namespace {

// An ELF file without anything: it has no note.
std::string EmptyElf() {
  std::string elf(64, '\0');
  elf.replace(0, 7, "\177ELF\2\1\1");
  elf[16] = 3, elf[18] = 62, elf[20] = 1, elf[52] = 64, elf[54] = 56, elf[58] = 64;
  return elf;
}

class CudaCompatTest : public ContainerTest {
 protected:
  void Library(const std::string& name) { Write("in/usr/local/cuda/compat/" + name, EmptyElf()); }
  // The lines of what was written, by a host with this driver.
  std::string Enable(const std::string& driver, const std::string& cuda = "") {
    CompatOptions options;
    options.host_driver = driver;
    options.host_cuda = cuda;
    const auto done =
        EnableCudaCompat({{}, Root()}, options, Report("test", Report::Level::kError));
    EXPECT_TRUE(done.ok()) << Told(done);
    std::string lines;
    for (const std::string& path : Root().Glob("/etc/ld.so.conf.d/00-compat-*.conf")) {
      lines += *Root().Read(path, 1000);
      EXPECT_EQ(Root().Look(path)->mode & 07777, 0644U);
    }
    return lines;
  }
};

TEST(UseCompat, FollowsTheNote) {
  struct Row {
    const char* name;
    const char* compat;
    std::optional<cdi::CompatNote> note;
    const char* driver;
    const char* cuda;
    bool use;
  };
  const cdi::CompatNote note{"13.1", {570, 580}};
  const Row rows[] = {
      {"newer, on a driver of the list", "590.1.2", note, "570.86.15", "", true},
      {"not on a driver that is not listed", "590.1.2", note, "550.54", "", false},
      {"not older than the host", "570.10", note, "580.1", "", false},
      {"not the same", "570.86", note, "570.86.0", "", false},
      {"numbers are no texts", "1000.1", {{"", {999}}}, "999.9", "", true},
      {"CUDA decides without a driver", "590.1", note, "", "13.0", true},
      {"CUDA of the host is newer", "590.1", note, "", "13.1", false},
      {"nothing is known", "590.1", note, "", "", false},
      {"no note: a newer major", "570.1", std::nullopt, "550.90.07", "", true},
      {"no note: the same major", "570.1", std::nullopt, "570.0", "", false},
      {"no note, but CUDA told", "570.1", std::nullopt, "550.1", "12.4", false},
      {"no version", "x.y", std::nullopt, "550.1", "", false},
  };
  for (const Row& row : rows)
    EXPECT_EQ(UseCompat(row.compat, row.note, {row.driver, row.cuda, ""}), row.use) << row.name;
}

TEST_F(CudaCompatTest, ANewerMajorIsListedFirst) {  // H7
  Library("libcuda.so.570.1");
  EXPECT_EQ(Enable("570.90.07"), "");
  EXPECT_EQ(Enable("550.90.07"), "/usr/local/cuda/compat\n");
  EXPECT_EQ(Enable("550.90.07"), "/usr/local/cuda/compat\n");  // the container started again
}

TEST_F(CudaCompatTest, TheDirectoryIsWrittenWithoutLinks) {
  Write("in/usr/local/cuda-13/compat/libcuda.so.570.1", EmptyElf());
  Link("/usr/local/cuda-13", "in/usr/local/cuda");
  EXPECT_EQ(Enable("550.1"), "/usr/local/cuda-13/compat\n");
}

TEST_F(CudaCompatTest, TwoLibrariesAreNone) {  // H8
  Library("libcuda.so.570.1");
  Library("libcuda.so.580.1");
  EXPECT_EQ(Enable("550.1"), "");
}

TEST_F(CudaCompatTest, APipeOrALinkIsNoLibraryAndNotWaitedFor) {
  Make("in/usr/local/cuda/compat");
  ASSERT_EQ(mkfifo(Path("in/usr/local/cuda/compat/libcuda.so.570.1").c_str(), 0644), 0);
  EXPECT_EQ(Enable("550.1"), "");
  ASSERT_EQ(unlink(Path("in/usr/local/cuda/compat/libcuda.so.570.1").c_str()), 0);
  Link(Path("host/secret"), "in/usr/local/cuda/compat/libcuda.so.570.1");
  EXPECT_EQ(Enable("550.1"), "");
}

// CVE-2024-0132: the compat directory as a link to the host's files.
TEST_F(CudaCompatTest, ADirectoryOutsideIsNotThere) {
  Write("outside/libcuda.so.570.1", EmptyElf());
  Link(Path("outside"), "in/usr/local/cuda/compat");
  EXPECT_EQ(Enable("550.1"), "");
  ASSERT_EQ(unlink(Path("in/usr/local/cuda/compat").c_str()), 0);
  Link("../../../../outside", "in/usr/local/cuda/compat");
  EXPECT_EQ(Enable("550.1"), "");
}

TEST_F(CudaCompatTest, ADirectoryWhoseNameIsTwoLinesIsNotListed) {
  Write("in/usr/local/a\nb/libcuda.so.570.1", EmptyElf());
  Link("/usr/local/a\nb", "in/usr/local/cuda/compat");
  EXPECT_EQ(Enable("550.1"), "");
}

TEST_F(CudaCompatTest, TheConfigurationStaysInside) {  // H4
  Library("libcuda.so.570.1");
  Link(Path("host"), "in/etc/ld.so.conf.d");
  EXPECT_EQ(Enable("550.1"), "/usr/local/cuda/compat\n");
}

TEST_F(CudaCompatTest, WhatIsNoElfFileIsNotUsed) {
  Write("in/usr/local/cuda/compat/libcuda.so.570.1", "text");
  EXPECT_EQ(Enable("550.1"), "");
}

}  // namespace
}  // namespace partita::hook
