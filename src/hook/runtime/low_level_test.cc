#include "hook/runtime/low_level.h"

#include <unistd.h>

#include <vector>

#include "hook/container/container_fixture.h"

namespace partita::hook {
namespace {

class LowLevel : public ContainerTest {
 protected:
  void Program(const std::string& path, mode_t mode = 0755) {
    Write(path, "#!/bin/sh\n");
    ASSERT_EQ(chmod(Path(path).c_str(), mode), 0);
  }
  std::string Find(const std::vector<std::string>& candidates, const std::string& path) {
    const auto found = FindLowLevelRuntime(candidates, path);
    return found.ok() ? *found : found.error().ToString();
  }
};

TEST_F(LowLevel, TheFirstCandidateThatIsThere) {
  Program("in/a/crun-x");
  Program("in/b/runc-x");
  Program("in/b/crun-x");
  const std::string path = Path("in/a") + "::" + Path("in/b");
  EXPECT_EQ(Find({"runc-x", "crun-x"}, path), Path("in/b/runc-x"));
  EXPECT_EQ(Find({"crun-x", "runc-x"}, path), Path("in/a/crun-x"));
  EXPECT_EQ(Find({Path("in/none"), Path("in/b/crun-x")}, path), Path("in/b/crun-x"));
}

TEST_F(LowLevel, WithoutPathTheUsualDirectories) {
  EXPECT_EQ(Find({"sh"}, ""), "/usr/bin/sh");
  EXPECT_EQ(FindProgram("sh", "relative:/nowhere"), "/usr/bin/sh");
  EXPECT_EQ(FindProgram("no-such-program-x", "/usr/bin"), "");
}

TEST_F(LowLevel, RelativeDirectoriesCountForNothing) {
  Program("in/runc-x");
  ASSERT_EQ(chdir(Path("in").c_str()), 0);
  EXPECT_NE(Find({"runc-x"}, ".:").find("no low-level runtime"), std::string::npos);
  EXPECT_EQ(
      Find({"./runc-x", "../in/runc-x"}, ""),
      "no low-level runtime: \"./runc-x\" is not an absolute path, \"../in/runc-x\" is not an "
      "absolute path");
  ASSERT_EQ(chdir("/"), 0);
}

TEST_F(LowLevel, NamesEveryReason) {
  Program("in/data", 0644);
  Make("in/directory");
  Link("/proc/self/exe", "in/self");
  EXPECT_EQ(
      Find({Path("in/none"), Path("in/data"), Path("in/directory"), "runc-x", Path("in/self")},
           Path("in")),
      "no low-level runtime: \"" + Path("in/none") + "\" is not there, \"" + Path("in/data") +
          "\" is not an executable file, \"" + Path("in/directory") +
          "\" is not an executable file, \"runc-x\" is nowhere in PATH, \"" + Path("in/self") +
          "\" is this program itself");
  EXPECT_EQ(Find({}, "/usr/bin"), "no low-level runtime: none is configured");
}

TEST_F(LowLevel, ThisProgramUnderAnotherNameIsNone) {
  Make("in/a");
  Make("in/b");
  Link("/proc/self/exe", "in/a/runc-x");
  Program("in/b/runc-x");
  EXPECT_EQ(Find({"runc-x"}, Path("in/a") + ":" + Path("in/b")), Path("in/b/runc-x"));
}

TEST_F(LowLevel, ExecThatFailsSaysWhy) {
  Write("in/data", "");
  EXPECT_EQ(ExecLowLevelRuntime(Path("in/data"), {}).ToString(),
            "could not exec " + Path("in/data") + ": Permission denied (errno 13)");
}

}  // namespace
}  // namespace partita::hook
