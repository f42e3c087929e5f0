#include "hook/cdi/create_symlinks.h"

#include "hook/container/container_fixture.h"

namespace partita::hook {
namespace {

using Words = std::vector<std::string>;

class CreateSymlinksTest : public ContainerTest {
 protected:
  base::Result<void> Create(const std::string& target, const std::string& path) {
    const LinkToMake link{target, path};
    return CreateSymlinks({{}, Root()}, std::span(&link, 1));
  }
};

TEST(ParseLinks, TakesExactlyOneSeparator) {
  EXPECT_EQ(*ParseLinks(Words{"libcuda.so.1::/usr/lib/libcuda.so"}),
            (std::vector<LinkToMake>{{"libcuda.so.1", "/usr/lib/libcuda.so"}}));
  for (const char* bad : {"", "a", "a:b", "a::", "::b", "a::b::c"}) {
    const auto parsed = ParseLinks(Words{bad});
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error().ToString(), "\"" + std::string(bad) + "\" is no link");
    EXPECT_EQ(parsed.error().hint(), "write TARGET::LINK");
  }
}

TEST_F(CreateSymlinksTest, MakesTheLinkAndItsDirectories) {
  ASSERT_TRUE(Create("libcuda.so.1", "/usr/lib/x/libcuda.so").ok());
  EXPECT_EQ(LinkText("in/usr/lib/x/libcuda.so"), "libcuda.so.1");
}

// H1, CVE-2024-0134: the fixture sees that the host stays as it was.
TEST_F(CreateSymlinksTest, AnAbsoluteLinkOfTheImageStaysInside) {
  Link(Path("host"), "in/etc");
  ASSERT_TRUE(Create("a", "/etc/x").ok());
  EXPECT_EQ(LinkText("in" + Path("host") + "/x"), "a");
}

TEST_F(CreateSymlinksTest, DotsOfPathAndLinksStayInside) {
  Link("../../../../../../host", "in/usr/lib");
  ASSERT_TRUE(Create("a", "/usr/lib/x").ok());
  ASSERT_TRUE(Create("a", "/../../host/y").ok());
  EXPECT_EQ(LinkText("in/host/x"), "a");
  EXPECT_EQ(LinkText("in/host/y"), "a");
}

TEST_F(CreateSymlinksTest, WhatIsThereIsReplacedNotFollowed) {
  Write("in/lib/file", "old");
  Link(Path("host/secret"), "in/lib/link");
  ASSERT_TRUE(Create("new", "/lib/file").ok());
  ASSERT_TRUE(Create("new", "/lib/link").ok());
  EXPECT_EQ(LinkText("in/lib/file"), "new");
  EXPECT_EQ(LinkText("in/lib/link"), "new");
}

// The text leads wherever it likes: it counts for whoever follows it, inside.
TEST_F(CreateSymlinksTest, TheTargetIsStoredAsGiven) {
  ASSERT_TRUE(Create("../../../../host/secret", "/x").ok());
  EXPECT_EQ(LinkText("in/x"), "../../../../host/secret");
}

}  // namespace
}  // namespace partita::hook
