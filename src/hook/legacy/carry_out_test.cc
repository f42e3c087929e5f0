#include "hook/legacy/carry_out.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/unique_fd.h"
#include "hook/container/container_fixture.h"

namespace partita::hook {
namespace {

constexpr MountAttributes kFile{true, false, true};
constexpr MountAttributes kSocket{false, true, true};

// A container that is made and not started: a process in a mount namespace of its own, where the
// root is a mount, as runtimes make it.
class CarryOutTest : public ContainerTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root for mount namespaces";
    Make("in/proc");
    int ready[2], go[2];
    ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(go, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(go[1]);
      Wait(ready[1], go[0]);
    }
    close(ready[1]);
    close(go[0]);
    go_.Reset(go[1]);
    char done = 0;
    ASSERT_EQ(read(ready[0], &done, 1), 1);
    close(ready[0]);
    mounts_ = *base::ReadFile("/proc/self/mountinfo");
  }
  void TearDown() override {
    EXPECT_EQ(Inside("true"), 0);
    EXPECT_EQ(*base::ReadFile("/proc/self/mountinfo"), mounts_);
    ContainerTest::TearDown();
  }

  base::Result<void> Do(const LegacyPlan& plan) {
    LegacyContainer container{pid_, {Path("in")}, "/none/ldconfig", false};
    return CarryOut(plan, container, Report("test", Report::Level::kError));
  }
  // The exit status of a script in the container's namespace, whose directory is its root. Once.
  int Inside(const std::string& script) {
    if (pid_ <= 0) return 0;
    EXPECT_EQ(write(go_.get(), script.data(), script.size()), static_cast<ssize_t>(script.size()));
    go_.Reset();
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  pid_t pid_ = 0;

 private:
  [[noreturn]] void Wait(int ready, int go) {
    const std::string root = Path("in"), proc = Path("in/proc");
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(root.c_str(), root.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        mount("/proc", proc.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0 ||
        chdir(root.c_str()) != 0 || write(ready, "r", 1) != 1)
      _exit(100);
    std::string script = "set -e; ";
    char buffer[4096];
    for (ssize_t count = 0; (count = read(go, buffer, sizeof buffer)) > 0;)
      script.append(buffer, static_cast<std::size_t>(count));
    execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    _exit(101);
  }
  base::UniqueFd go_;
  std::string mounts_;
};

TEST_F(CarryOutTest, MountsFilesNodesAndLinks) {
  Write("driver/libcuda.so.1", "library");
  Write("in/usr/lib64/libcuda.so.1", "the image's own");
  Make("driver/mps");
  LegacyPlan plan;
  plan.mounts = {{Path("driver/libcuda.so.1"), "/usr/lib64/libcuda.so.1", kFile},
                 {Path("driver/mps"), "/tmp/nvidia-mps", kSocket},
                 {Path("driver/gone"), "/run/gone/socket", kSocket}};
  plan.nodes = {{"/dev/null", "/dev/nvidia0", {'c', 1, 3, true, true, false}}};
  plan.links = {{"libcuda.so.1", "/usr/lib64/libcuda.so"}};
  plan.egl_mask = 1;
  const auto done = Do(plan);
  ASSERT_TRUE(done.ok()) << Told(done);
  EXPECT_EQ(
      Inside("[ \"$(cat usr/lib64/libcuda.so)\" = library ]\n"
             "if (echo x >usr/lib64/libcuda.so.1) 2>/dev/null; then exit 2; fi\n"
             "echo x >tmp/nvidia-mps/file\n"
             "echo x >dev/nvidia0\n"
             "grep -q 0x1 etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf\n"
             "grep -q ' /[^ ]*/in/dev/nvidia0 ro,nosuid,noexec' /proc/self/mountinfo\n"
             "grep -q ' /[^ ]*/in/usr/lib64/libcuda.so.1 ro,nosuid,nodev' /proc/self/mountinfo\n"
             "[ ! -e run ]\n"),
      0);
  EXPECT_EQ(Read("in/usr/lib64/libcuda.so.1"), "the image's own");
}

TEST_F(CarryOutTest, AnotherDeviceThanPlannedIsRefusedAndNothingMade) {
  LegacyPlan plan;
  plan.nodes = {{"/dev/zero", "/dev/nvidia0", {'c', 1, 3, true, true, false}}};
  EXPECT_EQ(Told(Do(plan)), "/dev/zero is not the device 1:3");
  plan.nodes = {{Path("host/secret"), "/dev/nvidia0", {'c', 0, 0, true, true, false}}};
  EXPECT_EQ(Told(Do(plan)), Path("host/secret") + " is not the device 0:0");
  EXPECT_EQ(*base::ListDirectory(Path("in")), std::vector<std::string>{"proc"});
}

TEST_F(CarryOutTest, AMissingFileOfTheDriverIsNamed) {
  LegacyPlan plan;
  plan.mounts = {{Path("driver/none"), "/usr/lib64/libcuda.so.1", kFile}};
  EXPECT_EQ(Told(Do(plan)),
            "copy the mount of " + Path("driver/none") + ": No such file or directory (errno 2)");
}

// CVE-2024-0132 and -0133: what is made and mounted stays below the root.
TEST_F(CarryOutTest, LinksOfTheImageLeadNowhere) {
  Write("driver/lib", "library");
  Link(Path("host"), "in/usr");
  Link("../../../../../../../host/secret", "in/lib");
  LegacyPlan plan;
  plan.mounts = {{Path("driver/lib"), "/usr/new", kFile}};
  plan.links = {{"x", "/usr/link"}};
  ASSERT_TRUE(Do(plan).ok());
  plan.mounts = {{Path("driver/lib"), "/lib", kFile}};
  EXPECT_EQ(Told(Do(plan)), "/lib in " + Path("in") + " is a link: nothing is mounted over it");
  EXPECT_EQ(Inside("[ \"$(cat ." + Path("host") + "/new)\" = library ]"), 0);
}

TEST_F(CarryOutTest, DotsOfAPlanStayInside) {
  Write("driver/lib", "library");
  const std::string up = "/usr/../../../../../../../../.." + Path("host");
  LegacyPlan plan;
  plan.mounts = {{Path("driver/lib"), up + "/new", kFile}};
  plan.nodes = {{"/dev/null", up + "/node", {'c', 1, 3, true, true, false}}};
  plan.links = {{"x", up + "/link"}};
  const auto done = Do(plan);
  ASSERT_TRUE(done.ok()) << Told(done);
  EXPECT_EQ(
      Inside("cd ." + Path("host") + "; [ \"$(cat new)\" = library ]; [ -c node ]; [ -L link ]"),
      0);
}

TEST_F(CarryOutTest, AFileIsNotMountedOverADirectory) {
  Write("driver/lib", "library");
  Make("in/lib");
  LegacyPlan plan;
  plan.mounts = {{Path("driver/lib"), "/lib", kFile}};
  EXPECT_EQ(Told(Do(plan)), "the image has /lib as a directory, and the driver as a file");
}

TEST_F(CarryOutTest, AProcessOfTheHostIsNoContainer) {
  const auto done =
      CarryOut({}, {getpid(), {Path("in")}, "", false}, Report("test", Report::Level::kError));
  EXPECT_EQ(Told(done), fmt::format("process {} is in the host's mount namespace", getpid()));
  EXPECT_EQ(Told(CarryOut({}, {pid_, {"/"}, "", false}, Report("test", Report::Level::kError))),
            "the container's root / is the host's");
}

}  // namespace
}  // namespace partita::hook
