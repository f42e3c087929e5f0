#include "base/real_path.h"

#include <unistd.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::base {
namespace {

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
