#include "hook/call.h"

#include <fmt/format.h>

#include "hook/container/container_fixture.h"

namespace partita::hook {
namespace {

class HookCallTest : public ContainerTest {
 protected:
  base::Result<HookCall> ReadState(const std::string& json) {
    Write("state.json", json);
    return ReadHookCall(Path("state.json"));
  }
};

TEST_F(HookCallTest, TheRootIsThatOfTheConfiguration) {
  Write("bundle/config.json", R"({"root":{"path":"rootfs"}})");
  Write("bundle/rootfs/name", "relative");
  const base::Result<HookCall> relative =
      ReadState(fmt::format(R"({{"bundle":"{}"}})", Path("bundle")));
  ASSERT_TRUE(relative.ok()) << relative.error().ToString();
  EXPECT_EQ(*relative->root.Read("/name", 100), "relative");

  Write("bundle/config.json", fmt::format(R"({{"root":{{"path":"{}"}}}})", Path("in")));
  Write("in/name", "absolute");
  const base::Result<HookCall> absolute =
      ReadState(fmt::format(R"({{"bundle":"{}"}})", Path("bundle")));
  ASSERT_TRUE(absolute.ok());
  EXPECT_EQ(*absolute->root.Read("/name", 100), "absolute");
}

// H12: crun tells the root, and the bundle cannot be read with --userns=nomap.
TEST_F(HookCallTest, TheStatesOwnRootNeedsNoBundle) {
  Write("in/name", "inside");
  const base::Result<HookCall> call =
      ReadState(fmt::format(R"({{"bundle":"{}","root":"{}"}})", Path("unreadable"), Path("in")));
  ASSERT_TRUE(call.ok()) << call.error().ToString();
  EXPECT_EQ(*call->root.Read("/name", 100), "inside");
}

TEST_F(HookCallTest, TheHostsRootIsRefusedHoweverItIsSpelt) {
  Link("/", "door");
  for (const std::string& root :
       {std::string("/"), std::string("//"), std::string("/proc/.."), Path("door")}) {
    const std::string link = root == Path("door") ? " (a link to /)" : "";
    EXPECT_EQ(Told(ReadState(fmt::format(R"({{"root":"{}"}})", root))),
              fmt::format("the container's root {}{} is the host's", root, link));
  }
}

TEST_F(HookCallTest, SaysWhatIsWrong) {
  EXPECT_EQ(Told(ReadState("{}")),
            "find the container's root: the container's state names no bundle");
  EXPECT_EQ(Told(ReadState(R"({"root":"rootfs"})")),
            "find the container's root: the container's root \"rootfs\" is relative, and no bundle "
            "is named by its whole path");
  EXPECT_EQ(Told(ReadState(R"({"root":"rootfs","bundle":"here"})")),
            "find the container's root: the container's root \"rootfs\" is relative, and no bundle "
            "is named by its whole path");
  EXPECT_EQ(Told(ReadState(fmt::format(R"({{"bundle":"{}"}})", Path("none")))),
            fmt::format("find the container's root: open directory {}: No such file or directory "
                        "(errno 2)",
                        Path("none")));
  Write("bundle/config.json", "{}");
  EXPECT_EQ(
      Told(ReadState(fmt::format(R"({{"bundle":"{}"}})", Path("bundle")))),
      fmt::format("find the container's root: {}/config.json: it has no \"root\"", Path("bundle")));
  EXPECT_EQ(Told(ReadState(std::string((1 << 20) + 1, ' '))),
            Path("state.json") + " has more than 1048576 bytes");
}

}  // namespace
}  // namespace partita::hook
