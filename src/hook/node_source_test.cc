#include "hook/node_source.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/unique_fd.h"
#include "hook/container/container_fixture.h"

namespace partita::hook {
namespace {

constexpr char kVersion[] =
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (x)\n"
    "GCC version:  gcc version 12.2.0 (580.1)\n";

class NodeSourceTest : public ContainerTest {
 protected:
  void SetUp() override {
    source_ = {Path("in"), Path("run"), Path("bin/partita"), ""};
    Write("in/proc/driver/nvidia/version", kVersion);
    Make("in/dev");
    if (mknod(Path("in/dev/nvidiactl").c_str(), S_IFCHR | 0666, makedev(195, 255)) != 0)
      GTEST_SKIP() << "needs root for device nodes";
    node_.driver_version = "580.159.04";
    cdi::DeviceNode control;
    control.path = "/dev/nvidiactl";
    control.major = 195;
    control.minor = 255;
    node_.control_nodes = {control};
    node_.spec.kind = "runtime.nvidia.com/gpu";
    Publish();
    Write("run/agent.lock", "");
    lock_.Reset(open(Path("run/agent.lock").c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(flock(lock_.get(), LOCK_EX | LOCK_NB), 0);
  }
  void Publish() { Write("run/devices.json", base::ToJson(ToValue(node_))); }
  void Partita(const std::string& script) {
    Write("bin/partita", "#!/bin/sh\n" + script);
    ASSERT_EQ(chmod(Path("bin/partita").c_str(), 0755), 0);
  }
  std::string Published() {
    const auto node = ReadPublished(source_);
    return node.ok() ? "fresh" : node.error().ToString();
  }

  NodeSource source_;
  cdi::NodeDevices node_;
  base::UniqueFd lock_;
};

TEST(IsOfDriver, LooksForTheWholeVersionInTheFirstLine) {
  EXPECT_TRUE(IsOfDriver(kVersion, "580.159.04"));
  for (const char* other : {"580.159", "580.1", "", "580.159.040"})
    EXPECT_FALSE(IsOfDriver(kVersion, other)) << other;
}

TEST_F(NodeSourceTest, ABelievableDocumentIsTaken) {
  EXPECT_EQ(Published(), "fresh");
  const auto node = ReadNode(source_, [](const cdi::NodeDevices&) { return true; });
  ASSERT_TRUE(node.ok()) << Told(node);
  EXPECT_EQ(node->driver_version, "580.159.04");
}

TEST_F(NodeSourceTest, WhatOthersCanWriteIsNotBelieved) {
  const std::string path = Path("run/devices.json");
  for (const mode_t mode : {0664U, 0646U}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(Published(), path + " is not a file that only root can write");
  }
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  ASSERT_EQ(chown(path.c_str(), 1000, 0), 0);
  EXPECT_EQ(Published(), path + " is not a file that only root can write");
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(Published(), path + " is not a file that only root can write");
  ASSERT_EQ(unlink(path.c_str()), 0);
  Link(Path("other.json"), "run/devices.json");
  EXPECT_EQ(Published(), path + " is not a file that only root can write");
}

TEST_F(NodeSourceTest, AnotherDriverIsNoticed) {
  Write("in/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  x\n");
  EXPECT_EQ(Published(),
            Path("run/devices.json") + ": it is of driver 580.159.04, and another one is loaded");
}

TEST_F(NodeSourceTest, ADeadAgentsDocumentIsOld) {
  lock_.Reset();
  EXPECT_EQ(Published(), Path("run/devices.json") + ": no agent holds " + Path("run/agent.lock"));
  ASSERT_EQ(unlink(Path("run/agent.lock").c_str()), 0);
  EXPECT_NE(Published().find("No such file"), std::string::npos);
}

TEST_F(NodeSourceTest, ANodeThatIsAnotherDeviceByNowIsNoticed) {
  node_.control_nodes[0].minor = 254;
  Publish();
  EXPECT_EQ(Published(),
            Path("run/devices.json") + ": /dev/nvidiactl is no longer the device 195:254");
}

TEST_F(NodeSourceTest, PartitaIsAskedWithoutAnEnvironment) {
  node_.generation = 7;
  Write("document", base::ToJsonLine(ToValue(node_)));
  Partita(
      "[ \"$*\" = 'cdi jit' ] && [ -z \"$SECRET$LD_PRELOAD\" ] && echo 'a warning' >&2 && cat " +
      Path("document"));
  setenv("SECRET", "1", 1);
  const auto node =
      ReadNode(source_, [](const cdi::NodeDevices& each) { return each.generation == 7; });
  unsetenv("SECRET");
  ASSERT_TRUE(node.ok()) << Told(node);
  EXPECT_EQ(node->generation, 7U);
}

TEST_F(NodeSourceTest, AConfiguredDriverRootCounts) {
  node_.driver_root = "/run/nvidia/driver";
  Publish();
  EXPECT_EQ(Published(), "fresh");
  source_.driver_root = "/run/nvidia/driver";
  EXPECT_EQ(Published(), "fresh");
  source_.driver_root = "/opt/driver";
  EXPECT_EQ(Published(),
            Path("run/devices.json") +
                ": it is of the driver below /run/nvidia/driver, and not of /opt/driver");
  Partita("echo \"$*\"");
  EXPECT_EQ(*CallPartita(source_, {"cdi", "jit"}), "cdi jit --driver-root /opt/driver");
}

TEST_F(NodeSourceTest, WhereNeitherHelpsBothAreTold) {
  lock_.Reset();
  Partita("echo 'partita: no driver answers' >&2; exit 6");
  EXPECT_EQ(Told(ReadNode(source_, [](const cdi::NodeDevices&) { return true; })),
            "what GPUs this machine has is not known: " + Path("run/devices.json") +
                ": no agent holds " + Path("run/agent.lock") + "; " + Path("bin/partita") +
                " cdi jit ended with status 6: partita: no driver answers");
  Partita("echo nothing");
  EXPECT_NE(Told(AskPartita(source_)).find(Path("bin/partita") + " cdi jit: "), std::string::npos);
}

}  // namespace
}  // namespace partita::hook
