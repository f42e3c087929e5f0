#include "oci/bundle.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::oci {
namespace {

class OciBundle : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/partita-oci.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    path_ = root_ + "/bundle";
    ASSERT_EQ(mkdir(path_.c_str(), 0755), 0);
    ASSERT_EQ(mkdir((path_ + "/rootfs").c_str(), 0755), 0);
    Put(R"({"root":{"path":"rootfs"}, "x": 1})");
  }
  void TearDown() override { ASSERT_TRUE(base::RemoveTree(root_).ok()); }

  void Put(const std::string& text) const {
    ASSERT_TRUE(base::WriteFile(path_ + "/config.json", text, 0640).ok());
  }
  [[nodiscard]] std::string Config() const { return *base::ReadFile(path_ + "/config.json"); }
  [[nodiscard]] Bundle Open() const {
    base::Result<Bundle> bundle = Bundle::Open(path_);
    EXPECT_TRUE(bundle.ok());
    return *std::move(bundle);
  }

  std::string root_, path_;
};

TEST_F(OciBundle, WritesWhatWasReadInItsPlace) {
  ASSERT_EQ(chmod((path_ + "/config.json").c_str(), 0604), 0);
  Bundle bundle = Open();
  auto spec = bundle.Read();
  ASSERT_TRUE(spec.ok()) << spec.error().ToString();
  spec->SetEnv("A", "b");
  const auto written = bundle.Write(*spec);
  ASSERT_TRUE(written.ok()) << written.error().ToString();
  EXPECT_EQ(Config(), spec->Text());
  struct stat about = {};
  ASSERT_EQ(stat((path_ + "/config.json").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0604u);
  EXPECT_EQ(base::ListDirectory(path_)->size(), 2u);
}

TEST_F(OciBundle, KeepsTheOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(chown((path_ + "/config.json").c_str(), 12, 34), 0);
  Bundle bundle = Open();
  auto spec = bundle.Read();
  spec->SetEnv("A", "b");
  ASSERT_TRUE(bundle.Write(*spec).ok());
  struct stat about = {};
  ASSERT_EQ(stat((path_ + "/config.json").c_str(), &about), 0);
  EXPECT_EQ(about.st_uid, 12u);
  EXPECT_EQ(about.st_gid, 34u);
}

TEST_F(OciBundle, NoticesAnotherDirectory) {
  Bundle bundle = Open();
  auto spec = bundle.Read();
  ASSERT_TRUE(spec.ok());
  spec->SetEnv("A", "b");
  ASSERT_EQ(rename(path_.c_str(), (root_ + "/old").c_str()), 0);
  ASSERT_EQ(mkdir(path_.c_str(), 0755), 0);
  Put("{}");
  const auto written = bundle.Write(*spec);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code(), base::ErrorCode::kConflict);
  EXPECT_EQ(written.error().ToString(),
            "the bundle " + path_ + " is another directory than it was");
  EXPECT_EQ(Config(), "{}");
  EXPECT_EQ(base::ListDirectory(root_ + "/old")->size(), 2u);
  EXPECT_EQ(base::ListDirectory(path_)->size(), 1u);
}

TEST_F(OciBundle, NoticesAnotherConfig) {
  Bundle bundle = Open();
  auto spec = bundle.Read();
  ASSERT_TRUE(spec.ok());
  spec->SetEnv("A", "b");
  ASSERT_EQ(unlink((path_ + "/config.json").c_str()), 0);
  Put(R"({"root":{"path":"other"}})");
  const auto written = bundle.Write(*spec);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().ToString(), path_ + "/config.json was changed while it was read");
  EXPECT_EQ(Config(), R"({"root":{"path":"other"}})");
}

TEST_F(OciBundle, ReadsOnlyARegularFile) {
  ASSERT_EQ(unlink((path_ + "/config.json").c_str()), 0);
  EXPECT_EQ(Open().Read().error().code(), base::ErrorCode::kNotFound);
  ASSERT_EQ(mkfifo((path_ + "/config.json").c_str(), 0600), 0);
  EXPECT_EQ(Open().Read().error().ToString(), path_ + "/config.json is no regular file");
  ASSERT_EQ(unlink((path_ + "/config.json").c_str()), 0);
  ASSERT_EQ(symlink("/etc/passwd", (path_ + "/config.json").c_str()), 0);
  EXPECT_EQ(Open().Read().error().ToString(), path_ + "/config.json is no regular file");
}

TEST_F(OciBundle, SaysWhichFileIsMalformed) {
  Put("{\"process\":1}");
  EXPECT_EQ(Open().Read().error().ToString(), path_ + ": config.json: process is no map");
}

TEST_F(OciBundle, FindsTheContainersRoot) {
  Bundle bundle = Open();
  const auto spec = bundle.Read();
  ASSERT_TRUE(spec.ok());
  // It is the bundle that is held, whatever its path leads to.
  ASSERT_TRUE(base::WriteFile(path_ + "/rootfs/here", "", 0600).ok());
  ASSERT_EQ(rename(path_.c_str(), (root_ + "/old").c_str()), 0);
  const auto root = bundle.Root(*spec);
  ASSERT_TRUE(root.ok()) << root.error().ToString();
  EXPECT_TRUE(root->Look("/here").ok());
  const auto refused = [&](const char* text) {
    return bundle.Root(*Spec::Parse(text)).error().ToString();
  };
  EXPECT_EQ(refused("{}"), path_ + ": config.json names no root");
  EXPECT_EQ(refused(R"({"root":{"path":"/"}})"), "the container's root / is the host's");
  EXPECT_EQ(refused(R"({"root":{"path":"/proc/self/root/"}})"),
            "the container's root /proc/self/root/ is the host's");
  EXPECT_EQ(refused(R"({"root":{"path":"config.json"}})"),
            "open the container's root config.json: Not a directory (errno 20)");
}

}  // namespace
}  // namespace partita::oci
