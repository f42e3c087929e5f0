#include "service/cdi/spec_file.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <gtest/gtest.h>

#include "base/files.h"
#include "hw/testing/tree.h"
#include "service/cdi/generate.h"
#include "service/cdi/testing/sample_node.h"

namespace partita::service::cdi {
namespace {

partita::cdi::Spec Sample() {
  GenerateOptions options;
  options.hooks = testing::SampleHooks();
  auto made =
      Generate(testing::SampleNode(), testing::SampleFiles(), testing::SampleNodes(), {}, options);
  return made->spec;
}

class SpecFile : public ::testing::Test {
 protected:
  [[nodiscard]] std::string Path(const std::string& name) const {
    return tree_.root() + "/" + name;
  }
  static struct stat About(const std::string& path) {
    struct stat about {};
    EXPECT_EQ(stat(path.c_str(), &about), 0) << path;
    return about;
  }
  hw::testing::Tree tree_;
};

TEST_F(SpecFile, IsForEverybodyAndInTheFormatOfItsName) {
  const std::string yaml = Path("cdi/nvidia.yaml");
  ASSERT_EQ(*WriteSpecFile(yaml, Sample()), Written::kNew);
  EXPECT_EQ(About(yaml).st_mode & 07777U, 0644U);
  EXPECT_TRUE(base::ReadFile(yaml)->starts_with("---\ncdiVersion: "));
  ASSERT_EQ(*WriteSpecFile(Path("json/nvidia.json"), Sample()), Written::kNew);
  EXPECT_TRUE(base::ReadFile(Path("json/nvidia.json"))->starts_with("{\"cdiVersion\":"));
}

TEST_F(SpecFile, NamesThatNobodyReadsAreRefused) {
  const auto written = WriteSpecFile(Path("nvidia.yml"), Sample());
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().ToString(),
            Path("nvidia.yml") + ": the name of a CDI file ends in .yaml or .json");
}

TEST_F(SpecFile, SameBytesKeepTheTime) {
  const std::string path = Path("nvidia.yaml");
  ASSERT_TRUE(WriteSpecFile(path, Sample()).ok());
  const struct stat before = About(path);
  EXPECT_EQ(*WriteSpecFile(path, Sample()), Written::kUnchanged);
  EXPECT_EQ(About(path).st_ino, before.st_ino);
  // A file that others may not read is no use, whatever its bytes.
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(*WriteSpecFile(path, Sample()), Written::kNew);
  EXPECT_EQ(About(path).st_mode & 07777U, 0644U);
}

TEST_F(SpecFile, AnotherFileOfTheKindIsAConflict) {
  ASSERT_TRUE(WriteSpecFile(Path("old.json"), Sample()).ok());
  tree_.File("broken.yaml", "a: [");
  const auto written = WriteSpecFile(Path("nvidia.yaml"), Sample());
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code(), base::ErrorCode::kConflict);
  EXPECT_EQ(written.error().ToString(),
            Path("old.json") + " defines devices of nvidia.com/gpu too");
  EXPECT_FALSE(base::Exists(Path("nvidia.yaml")));
  partita::cdi::Spec other = Sample();
  other.kind = "management.nvidia.com/gpu";
  EXPECT_TRUE(WriteSpecFile(Path("management.yaml"), other).ok());
}

TEST_F(SpecFile, ALinkIsFollowedUnlessItsDirectoryWouldHaveTheDevicesTwice) {
  tree_.File("cdi/x", "");
  for (const char* target : {"t.yaml", "../cdi/t.yaml"}) {
    tree_.Link("cdi/l.yaml", target);
    const auto written = WriteSpecFile(Path("cdi/l.yaml"), Sample());
    ASSERT_FALSE(written.ok()) << target;
    EXPECT_EQ(written.error().ToString(),
              Path("cdi/l.yaml") + " is a link to t.yaml of the same directory");
    EXPECT_FALSE(base::Exists(Path("cdi/t.yaml")));
    ASSERT_TRUE(base::RemoveTree(Path("cdi/l.yaml")).ok());
  }
  tree_.File("elsewhere/x", "");
  tree_.Link("cdi/l.yaml", "../elsewhere/t.yaml");
  ASSERT_EQ(*WriteSpecFile(Path("cdi/l.yaml"), Sample()), Written::kNew);
  EXPECT_EQ(*WriteSpecFile(Path("cdi/l.yaml"), Sample()), Written::kUnchanged);
  EXPECT_TRUE(base::ReadLink(Path("cdi/l.yaml")).ok());
  EXPECT_EQ(About(Path("elsewhere/t.yaml")).st_mode & 07777U, 0644U);
}

TEST_F(SpecFile, APipeBesideItIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(Path("pipe.yaml").c_str(), 0644), 0);
  EXPECT_EQ(*WriteSpecFile(Path("nvidia.yaml"), Sample()), Written::kNew);
}

TEST_F(SpecFile, WithoutAnEnvironmentForItsHooksItIsNotWritten) {
  partita::cdi::Spec spec = Sample();
  spec.edits.hooks[0].env.clear();
  EXPECT_FALSE(WriteSpecFile(Path("nvidia.yaml"), spec).ok());
  EXPECT_FALSE(base::Exists(Path("nvidia.yaml")));
}

}  // namespace
}  // namespace partita::service::cdi
