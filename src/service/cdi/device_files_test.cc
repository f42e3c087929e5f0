#include "service/cdi/device_files.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "hw/testing/tree.h"
#include "service/cdi/testing/sample_node.h"

namespace partita::service::cdi {
namespace {

TEST(DeviceFiles, AreCharacterDevicesOfTheDevRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "only root makes device nodes";
  const hw::testing::Tree tree;
  tree.File("dev/nvidia-caps/x", "");
  tree.File("dev/nvidia1", "no device");
  tree.Link("dev/nvidia2", "nvidia0");
  const std::string dev = tree.root() + "/dev";
  if (mknod((dev + "/nvidia0").c_str(), S_IFCHR | 0600, makedev(195, 0)) != 0)
    GTEST_SKIP() << "device nodes cannot be made here";
  ASSERT_EQ(chmod((dev + "/nvidia0").c_str(), 0660), 0);
  ASSERT_EQ(chown((dev + "/nvidia0").c_str(), 0, 44), 0);
  ASSERT_EQ(mknod((dev + "/nvidia-caps/nvidia-cap12").c_str(), S_IFCHR | 0444, makedev(241, 12)),
            0);
  tree.File("proc/devices", "Character devices:\n195 nvidia\n241 nvidia-caps\n\nBlock devices:\n");
  const base::Result<base::RootDir> root = base::RootDir::Open(tree.root());
  ASSERT_TRUE(root.ok());
  const DeviceFiles devices = ReadDeviceFiles(*root, tree.root(), testing::SampleNode());
  ASSERT_EQ(devices.nodes.size(), 2U);
  EXPECT_EQ(devices.nodes.at("/dev/nvidia0").device, makedev(195, 0));
  EXPECT_EQ(devices.nodes.at("/dev/nvidia0").gid, 44U);
  EXPECT_EQ(devices.nodes.at("/dev/nvidia0").mode & 0777U, 0660U);
  EXPECT_TRUE(devices.nodes.contains("/dev/nvidia-caps/nvidia-cap12"));
  EXPECT_EQ(devices.caps_major, 241U);
}

TEST(DeviceFiles, ANodeOfAnotherDeviceIsForeign) {
  if (geteuid() != 0) GTEST_SKIP() << "only root makes device nodes";
  const hw::testing::Tree tree;
  tree.File("dev/nvidia-caps/x", "");
  tree.File("proc/devices", "Character devices:\n195 nvidia\n241 nvidia-caps\n510 nvidia-uvm\n");
  const auto make = [&](const std::string& name, unsigned major, unsigned minor) {
    return mknod((tree.root() + "/dev/" + name).c_str(), S_IFCHR | 0666, makedev(major, minor));
  };
  if (make("nvidia0", 195, 0) != 0) GTEST_SKIP() << "device nodes cannot be made here";
  ASSERT_EQ(make("nvidia1", 1, 5), 0);
  ASSERT_EQ(make("nvidia2", 195, 3), 0);
  ASSERT_EQ(make("nvidiactl", 195, 255), 0);
  ASSERT_EQ(make("nvidia-uvm", 510, 0), 0);
  ASSERT_EQ(make("nvidia-uvm-tools", 510, 0), 0);
  ASSERT_EQ(make("nvidia-caps/nvidia-cap12", 241, 13), 0);
  // Of a driver that says nothing of it here.
  ASSERT_EQ(make("nvidia-fs0", 500, 7), 0);
  const base::Result<base::RootDir> root = base::RootDir::Open(tree.root());
  ASSERT_TRUE(root.ok());
  const DeviceFiles devices = ReadDeviceFiles(*root, tree.root(), testing::SampleNode());
  const std::map<std::string, std::string> foreign = {
      {"/dev/nvidia1", "is device 1:5, not the driver's 195:1"},
      {"/dev/nvidia2", "is device 195:3, not the driver's 195:2"},
      {"/dev/nvidia-uvm-tools", "is device 510:0, not the driver's 510:1"},
      {"/dev/nvidia-caps/nvidia-cap12", "is device 241:13, not the driver's 241:12"},
  };
  EXPECT_EQ(devices.foreign, foreign);
  EXPECT_EQ(devices.nodes.size(), 4U);
}

TEST(DeviceFiles, HaveTheDrmNodesOfEachGpuWithTheirLinks) {
  const hw::testing::Tree tree;
  tree.PciDevice("pci0000:00/0000:3b:00.0", "0x10de", "0x030200", "nvidia");
  tree.File("sys/devices/pci0000:00/0000:3b:00.0/drm/card0/dev", "");
  tree.Link("dev/dri/by-path/pci-0000:3b:00.0-card", "../card0");
  tree.Link("dev/dri/by-path/pci-0000:99:00.0-card", "../card1");
  const base::Result<base::RootDir> root = base::RootDir::Open(tree.root());
  ASSERT_TRUE(root.ok());
  const model::Inventory node = testing::SampleNode();
  const DeviceFiles devices = ReadDeviceFiles(*root, tree.root(), node);
  EXPECT_EQ(devices.drm.at(node.gpus[0].pci), std::vector<std::string>{"card0"});
  EXPECT_EQ(devices.by_path,
            (std::vector<Link>{{"../card0", "/dev/dri/by-path/pci-0000:3b:00.0-card"}}));
  EXPECT_EQ(devices.caps_major, 0U);
}

}  // namespace
}  // namespace partita::service::cdi
