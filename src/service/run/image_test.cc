#include "service/run/image.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::service::run {
namespace {

class ImageTest : public testing::Test {
 protected:
  ImageTest() {
    std::string pattern = testing::TempDir() + "/partita-image-XXXXXX";
    char real[PATH_MAX];
    top_ = realpath(mkdtemp(pattern.data()), real);
  }
  void TearDown() override { EXPECT_TRUE(base::RemoveTree(top_).ok()); }

  void Make(const std::string& path) {
    ASSERT_TRUE(base::MakeDirectories(base::JoinPath(top_, path), 0755).ok());
  }
  void Write(const std::string& path, mode_t mode) {
    Make(path.substr(0, path.rfind('/')));
    ASSERT_TRUE(base::WriteFile(base::JoinPath(top_, path), "#!", mode).ok());
  }
  void Link(const std::string& text, const std::string& path) {
    ASSERT_EQ(symlink(text.c_str(), base::JoinPath(top_, path).c_str()), 0);
  }
  // "" where it can be run.
  std::string Problem(const std::string& command) {
    const base::Result<Image> image = OpenImage(top_);
    const std::vector<std::string> added = {"/usr/bin/nvidia-smi"};
    const base::Result<void> checked = CheckCommand(image->root, command, added);
    return checked.ok() ? "" : checked.error().ToString();
  }

  std::string top_;
};

TEST_F(ImageTest, IsADirectoryOrItsRootfs) {
  Make("bin");
  EXPECT_EQ(OpenImage(top_)->path, top_);
  Make("rootfs/bin");
  EXPECT_EQ(OpenImage(top_)->path, top_ + "/rootfs");
  Link(top_, "link");
  EXPECT_EQ(OpenImage(top_ + "/link")->path, top_ + "/rootfs");
}

TEST_F(ImageTest, RefusesWhatHasNoRoot) {
  EXPECT_EQ(OpenImage(top_).error().message(),
            "image \"" + top_ + "\": there is no root file system in it");
  Write("dir/file", 0644);
  EXPECT_EQ(OpenImage(top_ + "/dir/file").error().message(),
            "image \"" + top_ + "/dir/file\": not a directory");
  EXPECT_EQ(OpenImage(top_ + "/none").error().code(), base::ErrorCode::kInvalid);
  Link("/", "root");
  EXPECT_EQ(OpenImage(top_ + "/root").error().message(),
            "image \"/\": that is this machine's own root");
}

// runc makes links in /dev by path.
TEST_F(ImageTest, RefusesLinksWhereRuncMounts) {
  Make("bin");
  Make("proc");
  Link("/etc", "dev");
  EXPECT_EQ(OpenImage(top_).error().message(), "image \"" + top_ + "\": /dev in it is a link");
  ASSERT_EQ(unlink((top_ + "/dev").c_str()), 0);
  EXPECT_TRUE(OpenImage(top_).ok());
  Write("./sys", 0644);
  EXPECT_EQ(OpenImage(top_).error().message(),
            "image \"" + top_ + "\": /sys in it is no directory");
}

TEST_F(ImageTest, FindsPrograms) {
  Write("usr/bin/tool", 0755);
  Write("opt/tool", 0755);
  Link("/opt/tool", "usr/bin/linked");
  Write("usr/bin/text", 0644);
  EXPECT_EQ(Problem("tool"), "");
  EXPECT_EQ(Problem("linked"), "");  // inside the image, not on this machine
  EXPECT_EQ(Problem("/opt/tool"), "");
  EXPECT_EQ(Problem("opt/tool"), "");
  EXPECT_EQ(Problem("nvidia-smi"), "");
  EXPECT_EQ(Problem("/usr/bin/nvidia-smi"), "");
  EXPECT_EQ(Problem("text"), "/usr/bin/text in the image is not a program");
  EXPECT_EQ(Problem("/usr/bin"), "/usr/bin in the image is not a program");
  EXPECT_EQ(Problem("none"), "there is no \"none\" in the image");
  EXPECT_EQ(Problem("/bin/nvidia-smi"), "there is no \"/bin/nvidia-smi\" in the image");
}

}  // namespace
}  // namespace partita::service::run
