#include "cdi/registry.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/files.h"
#include "cdi/testing/f1.h"
#include "cdi/text.h"

namespace partita::cdi {
namespace {

class CdiRegistry : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/partita-cdi.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    for (const char* name : {"/etc", "/run"}) ASSERT_EQ(mkdir((root_ + name).c_str(), 0755), 0);
  }
  void TearDown() override { ASSERT_TRUE(base::RemoveTree(root_).ok()); }

  void Put(const std::string& path, const std::string& text) const {
    ASSERT_TRUE(base::WriteFile(root_ + path, text, 0644).ok());
  }
  void Put(const std::string& path, const Spec& spec) const {
    Put(path, path.ends_with(".json") ? ToJson(spec) : ToYaml(spec));
  }
  [[nodiscard]] Registry Read() const {
    const std::vector<std::string> directories = {root_ + "/etc", root_ + "/run"};
    return Registry::Read(directories);
  }

  std::string root_;
};

using Names = std::vector<std::string>;
const Names kZero = {"nvidia.com/gpu=0"};

// F1 with another node, to know it again.
Spec Marked(const std::string& path) {
  Spec spec = testing::F1();
  spec.devices[0].edits.device_nodes[0].path = path;
  return spec;
}

std::string MarkOf(const Registry::Found& found) {
  return found.device->edits.device_nodes.at(0).path;
}

TEST_F(CdiRegistry, ReadsJsonAndYamlAndNothingElse) {
  Put("/etc/a.yaml", testing::F1());
  Spec other = testing::F1();
  other.kind = "a.com/net";
  Put("/run/b.json", other);
  Put("/run/c.yml", Marked("/x"));
  Put("/run/d.yaml.tmp", "{");
  ASSERT_EQ(mkdir((root_ + "/run/e.yaml").c_str(), 0755), 0);
  const Registry registry = Read();
  EXPECT_TRUE(registry.problems().empty());
  EXPECT_EQ(registry.Names(),
            (Names{"a.com/net=0", "a.com/net=all", "nvidia.com/gpu=0", "nvidia.com/gpu=all"}));
  EXPECT_EQ(registry.files().size(), 2u);
}

TEST_F(CdiRegistry, LaterDirectoryWins) {
  Put("/etc/z.yaml", Marked("/dev/old"));
  Put("/run/a.yaml", Marked("/dev/new"));
  const Registry registry = Read();
  EXPECT_TRUE(registry.problems().empty());
  const auto found = registry.Find(kZero);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(MarkOf(found->at(0)), "/dev/new");
  EXPECT_EQ(found->at(0).spec->kind, "nvidia.com/gpu");
}

TEST_F(CdiRegistry, TwinsInOneDirectoryAreNeither) {
  Put("/etc/z.yaml", testing::F1());
  Put("/run/a.yaml", testing::F1());
  Put("/run/b.json", testing::F1());
  const Registry registry = Read();
  EXPECT_EQ(registry.Names(), Names{});
  ASSERT_EQ(registry.problems().size(), 1u);
  EXPECT_EQ(registry.problems()[0].error.code(), base::ErrorCode::kConflict);
  EXPECT_EQ(registry.problems()[0].error.ToString(),
            "nvidia.com/gpu=0, nvidia.com/gpu=all cannot be used: defined by " + root_ +
                "/run/a.yaml and " + root_ + "/run/b.json, none of which wins");
  EXPECT_EQ(registry.Find(kZero).error().message(), "unresolvable CDI devices nvidia.com/gpu=0");
}

TEST_F(CdiRegistry, TwinsBelowAWinnerDoNoHarm) {
  Put("/etc/a.yaml", testing::F1());
  Put("/etc/b.yaml", testing::F1());
  Put("/run/c.yaml", Marked("/dev/new"));
  const Registry registry = Read();
  EXPECT_TRUE(registry.problems().empty());
  EXPECT_EQ(MarkOf(registry.Find(kZero)->at(0)), "/dev/new");
}

TEST_F(CdiRegistry, UnreadableDirectoryIsNotTheEnd) {
  ASSERT_EQ(rmdir((root_ + "/etc").c_str()), 0);
  Put("/etc", "a file in the way");
  Put("/run/a.yaml", testing::F1());
  const Registry registry = Read();
  EXPECT_EQ(registry.Names().size(), 2u);
  ASSERT_EQ(registry.problems().size(), 1u);
  EXPECT_EQ(registry.problems()[0].path, root_ + "/etc");
}

TEST_F(CdiRegistry, AbsentDirectoryIsNoProblem) {
  ASSERT_EQ(rmdir((root_ + "/etc").c_str()), 0);
  EXPECT_TRUE(Read().problems().empty());
}

TEST_F(CdiRegistry, OneBadFileHurtsNobody) {
  Put("/etc/a.yaml", testing::F1());
  Put("/run/b.json", "{");
  Spec spec = testing::F1();
  spec.version = "0.3.0";
  Put("/run/c.yaml", spec);
  ASSERT_EQ(mkfifo((root_ + "/run/d.yaml").c_str(), 0600), 0);
  ASSERT_EQ(symlink("nowhere", (root_ + "/run/e.yaml").c_str()), 0);
  const Registry registry = Read();
  EXPECT_EQ(registry.Names().size(), 2u);
  ASSERT_EQ(registry.problems().size(), 3u);
  EXPECT_TRUE(registry.problems()[0].error.ToString().starts_with(root_ + "/run/b.json:"));
  EXPECT_EQ(registry.problems()[1].error.ToString(),
            root_ +
                "/run/c.yaml: cdiVersion 0.3.0 is too low: a device whose name begins with a "
                "digit needs at least 0.5.0");
  EXPECT_EQ(registry.problems()[2].error.ToString(), root_ + "/run/d.yaml is no regular file");
}

TEST_F(CdiRegistry, FindsAllOrNamesTheMissing) {
  Put("/run/a.yaml", testing::F1());
  const Registry registry = Read();
  const Names both = {"nvidia.com/gpu=all", "nvidia.com/gpu=0"};
  const auto found = registry.Find(both);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->at(0).device->name, "all");
  EXPECT_EQ(found->at(1).device->name, "0");
  const Names some = {"nvidia.com/gpu=1", "nvidia.com/gpu=0", "x/y=z"};
  EXPECT_EQ(registry.Find(some).error().message(),
            "unresolvable CDI devices nvidia.com/gpu=1, x/y=z");
}

TEST_F(CdiRegistry, OneDirectoryNamedTwiceIsReadOnce) {
  Put("/run/a.yaml", testing::F1());
  const std::vector<std::string> twice = {root_ + "/run", root_ + "/run"};
  const Registry registry = Registry::Read(twice);
  EXPECT_TRUE(registry.problems().empty());
  EXPECT_EQ(registry.Names().size(), 2u);
}

TEST_F(CdiRegistry, KeepsWhatItGaveWhenMoved) {
  Put("/run/a.yaml", testing::F1());
  Registry registry = Read();
  const auto found = registry.Find(kZero);
  ASSERT_TRUE(found.ok());
  const Registry moved = std::move(registry);
  EXPECT_EQ(found->at(0).spec, &moved.files().front().spec);
  EXPECT_EQ(MarkOf(found->at(0)), "/dev/nvidia0");
}

}  // namespace
}  // namespace partita::cdi
