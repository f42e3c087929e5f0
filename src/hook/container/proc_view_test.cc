#include "hook/container/proc_view.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "hook/container/container_fixture.h"

namespace partita::hook {
namespace {

TEST(ProtectedParams, OnlyTheOneLineChanges) {
  EXPECT_EQ(
      *ProtectedParams("ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileMode: 438\n"),
      "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 0\nDeviceFileMode: 438\n");
  EXPECT_EQ(ProtectedParams("ModifyDeviceFiles: 0\n"), std::nullopt);
  EXPECT_EQ(ProtectedParams("DeviceFileModify: 1\n"), std::nullopt);
  EXPECT_EQ(ProtectedParams(""), std::nullopt);
}

TEST(MajorOf, CharacterDevicesAlone) {
  constexpr char kDevices[] =
      "Character devices:\n  1 mem\n195 nvidia\n508 nvidia-caps-imex-channels\n\n"
      "Block devices:\n  7 loop\n";
  EXPECT_EQ(MajorOf(kDevices, "nvidia-caps-imex-channels"), 508);
  EXPECT_EQ(MajorOf(kDevices, "nvidia-caps"), std::nullopt);
  EXPECT_EQ(MajorOf(kDevices, "loop"), std::nullopt);
  EXPECT_EQ(MajorOf("", "nvidia"), std::nullopt);
}

class ProcViewTest : public ContainerTest {
 protected:
  void Node(const std::string& path, mode_t type, dev_t device) {
    Make(path.substr(0, path.rfind('/')));
    if (mknod(Path(path).c_str(), type | 0666, device) != 0)
      GTEST_SKIP() << "needs root for device nodes";
  }
};

TEST_F(ProcViewTest, ReadsWhatTheHostsDriverShows) {
  const std::string proc = "in/proc/driver/nvidia/";
  Write(proc + "gpus/0000:3b:00.0/information", "Model: \t x\nDevice Minor: \t 1\n");
  Write(proc + "gpus/0000:5e:00.0/information", "Device Minor: \t 0\n");
  Write(proc + "gpus/0000:86:00.0/information", "Device Minor: \t ??\n");
  Write(proc + "capabilities/mig/config", "DeviceFileMinor: 1\nDeviceFileMode: 256\n");
  Write(proc + "capabilities/gpu1/mig/gi5/access", "DeviceFileMinor: 48\n");
  Write(proc + "capabilities/gpu1/mig/gi5/ci0/access", "DeviceFileMinor: 49\n");
  Write("in/proc/devices", "Character devices:\n195 nvidia\n241 nvidia-caps\n");
  const HostProc host = ReadHostProc(Root());
  EXPECT_EQ(host.caps_major, 241U);
  EXPECT_EQ(host.gpus,
            (std::map<std::uint32_t, std::string>{{0, "0000:5e:00.0"}, {1, "0000:3b:00.0"}}));
  using Access = std::vector<std::pair<std::string, std::uint32_t>>;
  EXPECT_EQ(
      host.access,
      (Access{{"gpu1/mig/gi5/access", 48}, {"gpu1/mig/gi5/ci0/access", 49}, {"mig/config", 1}}));
}

TEST_F(ProcViewTest, CountsTheNodesThatWereInjected) {
  Node("in/dev/nvidia1", S_IFCHR, makedev(195, 1));
  Node("in/dev/nvidia3", S_IFCHR, makedev(195, 3));
  Node("in/dev/nvidiactl", S_IFCHR, makedev(195, 255));
  Node("in/dev/nvidia4", S_IFREG, 0);
  Node("in/dev/nvidia5", S_IFCHR, makedev(1, 3));
  Node("in/dev/nvidia-modeset", S_IFCHR, makedev(195, 254));
  Node("in/dev/nvidia-caps/nvidia-cap48", S_IFCHR, makedev(241, 48));
  Node("in/dev/nvidia-caps/nvidia-cap7", S_IFCHR, makedev(1, 7));
  Node("in/else/nvidia6", S_IFCHR, makedev(195, 6));
  Link("/else/nvidia6", "in/dev/nvidia6");
  EXPECT_EQ(ReadInjectedNodes(Root(), 241), (InjectedNodes{{1, 3}, {48}}));
  EXPECT_EQ(ReadInjectedNodes(Root(), std::nullopt), (InjectedNodes{{1, 3}, {}}));
}

TEST_F(ProcViewTest, NumbersDecideAndLinksLeadNowhere) {
  Node("in/dev/any", S_IFCHR, makedev(195, 2));
  Node("in/else/cap", S_IFCHR, makedev(241, 5));
  Link("/else", "in/dev/nvidia-caps");
  EXPECT_EQ(ReadInjectedNodes(Root(), 241), (InjectedNodes{{2}, {}}));
  ASSERT_EQ(rename(Path("in/dev").c_str(), Path("in/real").c_str()), 0);
  Link("/real", "in/dev");
  EXPECT_EQ(ReadInjectedNodes(Root(), 241), InjectedNodes{});
}

TEST_F(ProcViewTest, OnlyTheKernelsFilesAreCovered) {
  HeldProc held;
  held.texts.emplace_back("version", "x");
  EXPECT_EQ(Told(ShowProc(Root(), held)),
            "open /proc in " + Path("in") + ": No such file or directory (errno 2)");
  Make("in/proc/driver/nvidia");
  EXPECT_EQ(Told(ShowProc(Root(), held)), "/proc in " + Path("in") + " is not the kernel's");
  EXPECT_TRUE(ShowProc(Root(), {}).ok());
}

TEST(ViewFor, IsWhatTheNodesAreOf) {
  HostProc host;
  host.gpus = {{0, "a"}, {1, "b"}, {2, "c"}};
  host.access = {
      {"gpu1/mig/gi1/access", 12}, {"gpu1/mig/gi1/ci0/access", 13}, {"gpu1/mig/gi2/access", 21}};
  const ProcView view = ViewFor({{1}, {12, 13}}, host);
  EXPECT_EQ(view.gpus, (std::vector<std::string>{"b"}));
  EXPECT_EQ(view.access,
            (std::vector<std::string>{"gpu1/mig/gi1/access", "gpu1/mig/gi1/ci0/access"}));
  EXPECT_EQ(ViewFor({}, host), ProcView{});
}

}  // namespace
}  // namespace partita::hook
