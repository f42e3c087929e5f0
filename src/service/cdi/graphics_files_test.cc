#include "service/cdi/graphics_files.h"

#include <gtest/gtest.h>

#include "service/cdi/testing/driver_tree.h"

namespace partita::service::cdi {
namespace {

using testing::DriverTree;
using Pairs = std::vector<std::pair<std::string, std::string>>;

DriverFiles Read(const DriverTree& tree, const std::string& on_host = "/") {
  DriverFiles files;
  files.version = "550.90.07";
  files.library_directories = {"/usr/lib64"};
  AddGraphicsFiles(tree.Open(on_host), {}, files);
  return files;
}

Pairs Mounts(const DriverFiles& files) {
  Pairs mounts;
  for (const partita::cdi::DriverFile& file : files.graphics)
    mounts.emplace_back(file.host_path, file.container_path);
  return mounts;
}

TEST(GraphicsFiles, NoneWhereThereAreNone) {
  const DriverTree tree;
  EXPECT_TRUE(Read(tree).graphics.empty());
}

TEST(GraphicsFiles, PlatformLibrariesOfAnyVersion) {
  const DriverTree tree;
  tree.File("/usr/lib64/libnvidia-egl-gbm.so.1.1.2");
  tree.File("/usr/lib64/libnvidia-egl-gbm.so.1");
  EXPECT_EQ(
      Mounts(Read(tree)),
      (Pairs{{"/usr/lib64/libnvidia-egl-gbm.so.1.1.2", "/usr/lib64/libnvidia-egl-gbm.so.1.1.2"}}));
}

TEST(GraphicsFiles, TheAllocatorIsALinkAlone) {
  const DriverTree tree;
  tree.File("/usr/lib64/libnvidia-allocator.so.550.90.07");
  tree.File("/usr/lib64/libnvidia-vulkan-producer.so.550.90.07");
  const DriverFiles files = Read(tree);
  EXPECT_EQ(Mounts(files), (Pairs{{"/usr/lib64/libnvidia-vulkan-producer.so.550.90.07",
                                   "/usr/lib64/libnvidia-vulkan-producer.so.550.90.07"}}));
  EXPECT_EQ(files.graphics_links,
            (std::vector<Link>{{"../libnvidia-allocator.so.1", "/usr/lib64/gbm/nvidia-drm_gbm.so"},
                               {"libnvidia-vulkan-producer.so.550.90.07",
                                "/usr/lib64/libnvidia-vulkan-producer.so"}}));
}

TEST(GraphicsFiles, XorgModulesStayWhereTheyAre) {
  const DriverTree tree;
  tree.File("/usr/lib/xorg/modules/drivers/nvidia_drv.so");
  tree.File("/usr/lib64/xorg/modules/extensions/libglxserver_nvidia.so.550.90.07");
  tree.File("/usr/lib64/nvidia/xorg/libglxserver_nvidia.so.550.90.07");
  const DriverFiles files = Read(tree);
  EXPECT_EQ(Mounts(files), (Pairs{{"/usr/lib/xorg/modules/drivers/nvidia_drv.so",
                                   "/usr/lib/xorg/modules/drivers/nvidia_drv.so"},
                                  {"/usr/lib64/nvidia/xorg/libglxserver_nvidia.so.550.90.07",
                                   "/usr/lib64/nvidia/xorg/libglxserver_nvidia.so.550.90.07"}}));
  EXPECT_EQ(files.graphics_links,
            (std::vector<Link>{{"libglxserver_nvidia.so.550.90.07",
                                "/usr/lib64/nvidia/xorg/libglxserver_nvidia.so"}}));
}

TEST(GraphicsFiles, ConfigurationGoesToFixedPlaces) {
  const DriverTree tree;
  tree.File("/etc/glvnd/egl_vendor.d/10_nvidia.json");
  tree.File("/usr/share/OpenCL/vendors/nvidia.icd");
  tree.File("/usr/share/vulkan/implicit_layer.d/nvidia_layers.json");
  tree.Program("/usr/bin/nvidia-xconfig");
  EXPECT_EQ(Mounts(Read(tree)),
            (Pairs{{"/usr/bin/nvidia-xconfig", "/usr/bin/nvidia-xconfig"},
                   {"/etc/glvnd/egl_vendor.d/10_nvidia.json",
                    "/usr/share/glvnd/egl_vendor.d/10_nvidia.json"},
                   {"/usr/share/OpenCL/vendors/nvidia.icd", "/etc/OpenCL/vendors/nvidia.icd"},
                   {"/usr/share/vulkan/implicit_layer.d/nvidia_layers.json",
                    "/etc/vulkan/implicit_layer.d/nvidia_layers.json"}}));
}

// GKE's driver root has them at its top.
TEST(GraphicsFiles, VulkanAtTheTopOfTheRoot) {
  const DriverTree tree;
  tree.File("/vulkan/icd.d/nvidia_icd.json");
  EXPECT_EQ(Mounts(Read(tree, "/home/kubernetes/bin/nvidia")),
            (Pairs{{"/home/kubernetes/bin/nvidia/vulkan/icd.d/nvidia_icd.json",
                    "/etc/vulkan/icd.d/nvidia_icd.json"}}));
}

}  // namespace
}  // namespace partita::service::cdi
