#include "sim/state/render.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "sim/state/life.h"
#include "sim/state/mig.h"
#include "sim/state/test_node.h"

namespace partita::sim {
namespace {

constexpr char kCapabilities[] = "proc/driver/nvidia/capabilities/";

bool MayMakeNodes(const NodeDirectory& node) {
  const std::string path = node.root() + "/sim/probe";
  return mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0;
}

// "crw-rw-rw- 195:0", or "(absent)".
std::string Node(const NodeDirectory& node, const std::string& path) {
  struct stat found {};
  if (lstat((node.root() + "/" + path).c_str(), &found) != 0) return "(absent)";
  std::ostringstream text;
  text << (S_ISCHR(found.st_mode) ? "c " : "other ") << std::oct << (found.st_mode & 07777)
       << std::dec << " " << major(found.st_rdev) << ":" << minor(found.st_rdev);
  return text.str();
}

void Render(NodeDirectory& node) {
  const int error = RenderDriverFiles(node.root().c_str(), node.machine(), node.Snapshot());
  EXPECT_TRUE(error == 0 || !MayMakeNodes(node)) << error;
}

uint32_t CreateInstance(NodeDirectory& node, uint32_t gpu, bool with_compute) {
  uint32_t id = 0;
  node.Change([&](Slot& slot) {
    const Board& board = node.machine().boards[gpu];
    EXPECT_EQ(CreateGpuInstance(board, slot.gpus[gpu], *FindGiProfile(board, 0), 6, 1, &id),
              MigStatus::kDone);
    uint32_t compute = 0;
    if (with_compute) {
      EXPECT_EQ(CreateComputeInstance(board, slot.gpus[gpu].instances[id],
                                      *FindCiProfile(board, 0, 0), kNone, &compute),
                MigStatus::kDone);
    }
  });
  return id;
}

// The capture keeps the beginning of the table; its end is known by number.
TEST(Render, MigMinorsEqualTheDriversTable) {
  NodeDirectory node("h200-vm");
  Render(node);
  std::ifstream capture("data/captures/h200/system.txt");
  ASSERT_TRUE(capture) << "run in the root of the repository";
  std::string expected, line;
  bool inside = false;
  while (std::getline(capture, line)) {
    if (line.rfind("## ", 0) == 0) {
      inside = line == "## /proc/driver/nvidia-caps/mig-minors";
    } else if (inside) {
      expected += line + "\n";
    }
  }
  const std::string text = node.Text("proc/driver/nvidia-caps/mig-minors");
  EXPECT_GT(expected.size(), 100U);
  EXPECT_EQ(text.substr(0, expected.size()), expected);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4322);
  EXPECT_TRUE(text.ends_with("\ngpu31/gi14/ci7/access 4322\n"));
  EXPECT_EQ(node.Text("proc/driver/nvidia-caps/sys-minors"), "fabric-imex-mgmt 4323\n");
  EXPECT_EQ(node.Text("proc/driver/nvidia-caps/nvlink-minors"), "fabric-mgmt 0\n");
}

TEST(Render, DescribesGpusAsTheDriverDoes) {
  NodeDirectory node("h200-vm");
  Render(node);
  const Board& board = node.machine().boards[0];
  const std::string text = node.Text("proc/driver/nvidia/gpus/0000:00:06.0/information");
  EXPECT_NE(text.find("Model: \t\t NVIDIA H200\n"), std::string::npos) << text;
  EXPECT_NE(text.find(std::string("GPU UUID: \t ") + board.uuid + "\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Bus Location: \t 0000:00:06.0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Device Minor: \t 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("GPU Firmware: \t 580.159.04\n"), std::string::npos) << text;
  EXPECT_EQ(
      node.Text("proc/driver/nvidia/version")
          .rfind(
              "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build",
              0),
      0U);
  EXPECT_EQ(node.Text(std::string(kCapabilities) + "mig/config"),
            "DeviceFileMinor: 1\nDeviceFileMode: 256\nDeviceFileModify: 1\n");
  const std::string devices = node.Text("proc/devices");
  EXPECT_NE(devices.find("\n195 nvidia\n195 nvidiactl\n"), std::string::npos) << devices;
  EXPECT_NE(devices.find("\n\nBlock devices:\n"), std::string::npos) << devices;
  EXPECT_NE(node.Text("proc/modules").find("nvidia 14299136"), std::string::npos);
}

TEST(Render, EveryBootHasItsId) {
  NodeDirectory node("h200-vm");
  Render(node);
  const std::string first = node.Text("proc/sys/kernel/random/boot_id");
  EXPECT_EQ(first.size(), 37U) << "a UUID and the end of its line";
  node.Change([&](Slot& slot) { Reboot(node.machine(), slot); });
  const std::string second = node.Text("proc/sys/kernel/random/boot_id");
  EXPECT_EQ(second.size(), 37U);
  EXPECT_NE(second, first);
}

TEST(Render, MakesTheNodes) {
  NodeDirectory node("dgx-a100-40");
  if (!MayMakeNodes(node)) GTEST_SKIP() << "no CAP_MKNOD: run as root to test device nodes";
  Render(node);
  const std::string caps = std::to_string(node.machine().major_caps);
  EXPECT_EQ(Node(node, "dev/nvidia0"), "c 666 195:0");
  EXPECT_EQ(Node(node, "dev/nvidia7"), "c 666 195:7");
  EXPECT_EQ(Node(node, "dev/nvidia8"), "(absent)");
  EXPECT_EQ(Node(node, "dev/nvidiactl"), "c 666 195:255");
  EXPECT_EQ(Node(node, "dev/nvidia-caps/nvidia-cap1"), "c 400 " + caps + ":1");
  EXPECT_EQ(Node(node, "dev/nvidia-caps/nvidia-cap2"), "c 444 " + caps + ":2");
  const uint32_t gi = CreateInstance(node, 2, true);
  const uint32_t minor = GpuInstanceMinor(node.machine().boards[2].minor, gi);
  const std::string node_of_gi = "dev/nvidia-caps/nvidia-cap" + std::to_string(minor);
  EXPECT_EQ(Node(node, node_of_gi), "c 444 " + caps + ":" + std::to_string(minor));
  EXPECT_EQ(Node(node, "dev/nvidia-caps/nvidia-cap" + std::to_string(minor + 1)),
            "c 444 " + caps + ":" + std::to_string(minor + 1));
}

TEST(Render, InstancesComeAndGoWithTheCommit) {
  NodeDirectory node("dgx-a100-40");
  Render(node);
  const uint32_t gi = CreateInstance(node, 1, true);
  const std::string gpu = "gpu" + std::to_string(node.machine().boards[1].minor);
  const std::string directory = kCapabilities + gpu + "/mig/gi" + std::to_string(gi);
  const uint32_t minor = GpuInstanceMinor(node.machine().boards[1].minor, gi);
  EXPECT_EQ(node.Text(directory + "/access"), "DeviceFileMinor: " + std::to_string(minor) +
                                                  "\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
  EXPECT_EQ(node.Text(directory + "/ci0/access"),
            "DeviceFileMinor: " + std::to_string(minor + 1) +
                "\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
  node.Change([&](Slot& slot) { DestroyComputeInstance(slot.gpus[1].instances[gi], 0); });
  EXPECT_FALSE(node.Has(directory + "/ci0"));
  EXPECT_TRUE(node.Has(directory + "/access"));
  node.Change([&](Slot& slot) { DestroyGpuInstance(slot.gpus[1], gi); });
  EXPECT_FALSE(node.Has(directory));
  EXPECT_FALSE(node.Has("dev/nvidia-caps/nvidia-cap" + std::to_string(minor)));
}

// GPU instance 9 of GPU 0 comes or goes by a commit without its rendering, as a kill between the
// two leaves it.
void ChangeUnrendered(NodeDirectory& node, uint32_t live) {
  StatusOf(InChild([&] {
    Transaction transaction;
    if (Transaction::Begin(node.store(), &transaction) != 0) return 2;
    transaction.slot().gpus[0].instances[9].live = live;
    if (rename((node.root() + "/proc").c_str(), (node.root() + "/away").c_str()) != 0) return 3;
    transaction.Commit();
    return rename((node.root() + "/away").c_str(), (node.root() + "/proc").c_str()) == 0 ? 0 : 4;
  }));
}

TEST(Render, TheNextOwnerOfTheLockHealsWhatAKilledOneLeft) {
  NodeDirectory node("dgx-a100-40");
  Render(node);
  node.Change([](Slot&) {});  // from now on the tree is known to be in line
  const std::string directory = std::string(kCapabilities) + "gpu0/mig/gi9";
  ChangeUnrendered(node, 1);
  EXPECT_FALSE(node.Has(directory));
  node.Change([](Slot&) {});
  EXPECT_TRUE(node.Has(directory + "/access"));
  ChangeUnrendered(node, 0);
  EXPECT_TRUE(node.Has(directory + "/access"));
  node.Change([](Slot&) {});
  EXPECT_FALSE(node.Has(directory));
}

// As a call does that is refused: it has the lock and commits nothing.
TEST(Render, AnOwnerOfTheLockThatChangesNothingHealsToo) {
  NodeDirectory node("dgx-a100-40");
  Render(node);
  node.Change([](Slot&) {});
  const std::string directory = std::string(kCapabilities) + "gpu0/mig/gi9";
  for (const uint32_t live : {1U, 0U}) {
    ChangeUnrendered(node, live);
    EXPECT_EQ(node.Has(directory), live == 0);
    {
      Transaction transaction;
      ASSERT_EQ(Transaction::Begin(node.store(), &transaction), 0);
    }
    EXPECT_EQ(node.Has(directory), live == 1);
  }
}

TEST(Render, AnUnloadedDriverLeavesNothing) {
  NodeDirectory node("dgx-a100-40");
  Render(node);
  CreateInstance(node, 0, true);
  node.Change([&](Slot& slot) { UnloadDriver(node.machine(), slot); });
  EXPECT_FALSE(node.Has("proc/driver/nvidia"));
  EXPECT_FALSE(node.Has("dev/nvidia-caps"));
  EXPECT_FALSE(node.Has("dev/nvidia0"));
  EXPECT_EQ(node.Text("proc/modules").find("nvidia"), std::string::npos);
  EXPECT_EQ(node.Text("proc/devices").find("nvidia"), std::string::npos);
  node.Change([&](Slot& slot) { LoadDriver(node.machine(), slot); });
  EXPECT_TRUE(node.Has("proc/driver/nvidia/version"));
  EXPECT_FALSE(node.Has(std::string(kCapabilities) + "gpu0/mig/gi9"));
}

TEST(Render, AGpuForVirtualMachinesIsNotShown) {
  NodeDirectory node("dgx-a100-40");
  Render(node);
  const Board& board = node.machine().boards[3];
  char directory[64];
  snprintf(directory, sizeof directory, "proc/driver/nvidia/gpus/%04x:%02x:%02x.0",
           board.pci.domain, board.pci.bus, board.pci.device);
  EXPECT_TRUE(node.Has(directory));
  node.Change([](Slot& slot) { slot.gpus[3].pci_driver = PciDriver::kVfio; });
  EXPECT_FALSE(node.Has(directory));
  EXPECT_FALSE(node.Has("dev/nvidia" + std::to_string(board.minor)));
}

}  // namespace
}  // namespace partita::sim
