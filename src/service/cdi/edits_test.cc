#include "service/cdi/edits.h"

#include <gtest/gtest.h>

#include "service/cdi/testing/sample_node.h"

namespace partita::service::cdi {
namespace {

using partita::cdi::ContainerEdits;
using partita::cdi::DeviceNode;
using partita::cdi::Hook;
using Paths = std::vector<std::string>;

Paths NodePathsOf(const base::Result<ContainerEdits>& edits) {
  Paths paths;
  if (!edits.ok()) return {edits.error().ToString()};
  for (const DeviceNode& node : edits->device_nodes) paths.push_back(node.path);
  return paths;
}

base::Result<ContainerEdits> FirstSlice(const model::Inventory& node, const DeviceFiles& devices) {
  const model::GpuInstance& instance = node.gpus[0].mig->instances[0];
  return MigEdits(node.gpus[0], instance, instance.compute_instances[0], devices, {},
                  testing::SampleHooks());
}

void AddDrm(DeviceFiles& devices, const model::PciAddress& pci) {
  testing::Put(devices, "/dev/dri/card0", 226, 0, 0660, 44);
  testing::Put(devices, "/dev/dri/renderD128", 226, 128, 0660, 109);
  devices.drm[pci] = {"card0", "controlD64", "renderD128"};
  const std::string links = "/dev/dri/by-path/pci-" + pci.ToString();
  devices.by_path = {{"../card0", links + "-card"}, {"../renderD128", links + "-render"}};
}

TEST(Edits, MinorIsNotIndex) {
  model::Inventory node = testing::SampleNode();
  node.gpus[0].minor = model::DeviceMinor(3);
  DeviceFiles devices = testing::SampleNodes();
  testing::Put(devices, "/dev/nvidia3", 195, 3);
  EXPECT_EQ(NodePathsOf(GpuEdits(node.gpus[0], devices, {}, testing::SampleHooks())),
            Paths{"/dev/nvidia3"});
}

TEST(Edits, NodeSaysWhatTheHostHas) {
  DeviceFiles devices;
  testing::Put(devices, "/dev/nvidia0", 195, 0, 0660, 44);
  const auto edits = GpuEdits(testing::SampleGpu(), devices, {"/", "/dev-root"}, {});
  ASSERT_TRUE(edits.ok());
  DeviceNode wanted;
  wanted.path = "/dev/nvidia0";
  wanted.host_path = "/dev-root/dev/nvidia0";
  wanted.major = 195;
  wanted.file_mode = 0660;
  wanted.permissions = "rwm";
  wanted.gid = 44;
  EXPECT_EQ(edits->device_nodes, std::vector<DeviceNode>{wanted});
  EXPECT_EQ(edits->additional_gids, std::vector<std::uint32_t>{44});
}

TEST(Edits, GroupsOnlyWhereNotEverybodyMayOpenTheNode) {
  DeviceFiles devices;
  testing::Put(devices, "/dev/nvidia0", 195, 0, 0666, 44);
  EXPECT_TRUE(GpuEdits(testing::SampleGpu(), devices, {}, {})->additional_gids.empty());
  testing::Put(devices, "/dev/nvidia0", 195, 0, 0664, 44);
  EXPECT_FALSE(GpuEdits(testing::SampleGpu(), devices, {}, {})->additional_gids.empty());
  HookSet without;
  without.additional_gids = false;
  const auto edits = GpuEdits(testing::SampleGpu(), devices, {}, without);
  EXPECT_TRUE(edits->additional_gids.empty());
  EXPECT_EQ(edits->device_nodes[0].gid, 44U);
}

TEST(Edits, SliceHasThreeNodes) {
  model::Inventory node = testing::SampleNode();
  DeviceFiles devices = testing::SampleNodes();
  testing::Slice(node, devices);
  AddDrm(devices, node.gpus[0].pci);
  EXPECT_EQ(
      NodePathsOf(FirstSlice(node, devices)),
      (Paths{"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap12", "/dev/nvidia-caps/nvidia-cap13"}));
}

TEST(Edits, MissingCapabilityNodeIsNamed) {
  model::Inventory node = testing::SampleNode();
  DeviceFiles devices = testing::SampleNodes();
  testing::Slice(node, devices);
  devices.nodes.erase("/dev/nvidia-caps/nvidia-cap13");
  const auto edits = FirstSlice(node, devices);
  ASSERT_FALSE(edits.ok());
  EXPECT_EQ(edits.error().ToString(),
            "/dev/nvidia-caps/nvidia-cap13 is missing, which compute instance 0 of GPU instance 1 "
            "of GPU 0 needs");
  EXPECT_EQ(edits.error().hint(),
            "nvidia-modprobe -f /proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0/access makes it");
  node.gpus[0].mig->instances[0].access.reset();
  EXPECT_EQ(FirstSlice(node, devices).error().ToString(),
            "/proc/driver/nvidia-caps/mig-minors does not list GPU instance 1 of GPU 0");
}

TEST(Edits, MissingGpuNodeIsNamed) {
  const auto edits = GpuEdits(testing::SampleGpu(), {}, {"/", "/run/nvidia/driver"}, {});
  ASSERT_FALSE(edits.ok());
  EXPECT_EQ(edits.error().ToString(),
            "/run/nvidia/driver/dev/nvidia0 is missing, which GPU 0 needs");
}

TEST(Edits, ForeignGpuNodeIsNamedForWhatItIs) {
  DeviceFiles devices;
  devices.foreign["/dev/nvidia0"] = "is device 1:5, not the driver's 195:0";
  const auto edits = GpuEdits(testing::SampleGpu(), devices, {}, {});
  ASSERT_FALSE(edits.ok());
  EXPECT_EQ(edits.error().ToString(),
            "/dev/nvidia0 is device 1:5, not the driver's 195:0, which GPU 0 needs");
  EXPECT_EQ(edits.error().hint(), "remove it; nvidia-modprobe -u -c 0 makes the right one");
}

TEST(Edits, GpuHasItsDrmNodesAndTheirLinks) {
  DeviceFiles devices = testing::SampleNodes();
  const model::Gpu gpu = testing::SampleGpu();
  AddDrm(devices, gpu.pci);
  const auto edits = GpuEdits(gpu, devices, {}, testing::SampleHooks());
  EXPECT_EQ(NodePathsOf(edits), (Paths{"/dev/nvidia0", "/dev/dri/card0", "/dev/dri/renderD128"}));
  ASSERT_EQ(edits->hooks.size(), 1U);
  EXPECT_EQ(edits->hooks[0].args,
            (Paths{"nvidia-cdi-hook", "create-symlinks", "--link",
                   "../card0::/dev/dri/by-path/pci-0000:3b:00.0-card", "--link",
                   "../renderD128::/dev/dri/by-path/pci-0000:3b:00.0-render"}));
  EXPECT_EQ(edits->additional_gids, (std::vector<std::uint32_t>{44, 109}));
}

TEST(Edits, LinksToSomethingElseAreLeftOut) {
  DeviceFiles devices = testing::SampleNodes();
  const model::Gpu gpu = testing::SampleGpu();
  AddDrm(devices, gpu.pci);
  devices.by_path[0].target = "../card7";
  devices.by_path[1].target = "../../sda";
  EXPECT_TRUE(GpuEdits(gpu, devices, {}, testing::SampleHooks())->hooks.empty());
}

TEST(Edits, GfxSliceHasDrm) {
  model::Inventory node = testing::SampleNode();
  DeviceFiles devices = testing::SampleNodes();
  testing::Slice(node, devices);
  AddDrm(devices, node.gpus[0].pci);
  node.gpus[0].mig->instances[0].profile_name = "1g.24gb+gfx";
  const auto edits = FirstSlice(node, devices);
  EXPECT_EQ(NodePathsOf(edits).size(), 5U);
  EXPECT_EQ(edits->hooks.size(), 1U);
}

TEST(Edits, BigDomainBusId) {
  DeviceFiles devices = testing::SampleNodes();
  model::Gpu gpu = testing::SampleGpu();
  gpu.pci.domain = 0x10000;
  AddDrm(devices, gpu.pci);
  const auto edits = GpuEdits(gpu, devices, {}, testing::SampleHooks());
  ASSERT_EQ(edits->hooks.size(), 1U);
  EXPECT_EQ(edits->hooks[0].args[3], "../card0::/dev/dri/by-path/pci-10000:3b:00.0-card");
}

TEST(HookSet, EnabledBeatsDisabled) {
  HookSet hooks;
  EXPECT_TRUE(hooks.Make("update-ldcache", {}).has_value());
  EXPECT_FALSE(hooks.Make("chmod", {}).has_value());
  hooks.disabled = {"all"};
  EXPECT_FALSE(hooks.Make("update-ldcache", {}).has_value());
  hooks.enabled = {"update-ldcache", "chmod"};
  EXPECT_TRUE(hooks.Make("update-ldcache", {}).has_value());
  EXPECT_TRUE(hooks.Make("chmod", {}).has_value());
}

TEST(HookSet, NamesItsProgramAndHasAnEnvironment) {
  HookSet hooks;
  Hook hook = *hooks.Make("noop", {"--x"});
  EXPECT_EQ(hook.path, "/usr/bin/partita-hook");
  EXPECT_EQ(hook.args, (Paths{"nvidia-cdi-hook", "noop", "--x"}));
  EXPECT_EQ(hook.env, Paths{"NVIDIA_CTK_DEBUG=false"});
  hooks.first_argument = "nvidia-ctk";
  EXPECT_EQ(hooks.Make("noop", {})->args, (Paths{"nvidia-ctk", "hook", "noop"}));
}

TEST(CommonEdits, ChmodAndLdconfigWhenAsked) {
  DeviceFiles devices = testing::SampleNodes();
  const model::Gpu gpu = testing::SampleGpu();
  AddDrm(devices, gpu.pci);
  HookSet hooks = testing::SampleHooks();
  hooks.enabled = {"chmod"};
  hooks.ldconfig_path = "/sbin/ldconfig.real";
  EXPECT_EQ(GpuEdits(gpu, devices, {}, hooks)->hooks.back().args,
            (Paths{"nvidia-cdi-hook", "chmod", "--mode", "755", "--path", "/dev/dri"}));
  const ContainerEdits common = CommonEdits(testing::SampleFiles(), devices, {}, hooks);
  EXPECT_EQ(common.hooks[2].args,
            (Paths{"nvidia-cdi-hook", "update-ldcache", "--ldconfig-path", "/sbin/ldconfig.real",
                   "--folder", "/usr/lib/x86_64-linux-gnu"}));
}

TEST(CommonEdits, SocketsAreWritable) {
  DriverFiles files = testing::SampleFiles();
  files.driver = {{.host_path = "/run/nvidia-persistenced/socket",
                   .container_path = "/run/nvidia-persistenced/socket",
                   .kind = partita::cdi::FileKind::kSocket,
                   .of = {},
                   .soname = "",
                   .elf32 = false}};
  const ContainerEdits common = CommonEdits(files, {}, {}, {});
  EXPECT_EQ(common.mounts[0].options, (Paths{"nosuid", "nodev", "rbind", "rprivate", "noexec"}));
}

TEST(Names, OfEveryKind) {
  constexpr Naming kAll[] = {Naming::kIndex, Naming::kUuid, Naming::kTypeIndex};
  model::Inventory node = testing::SampleNode();
  DeviceFiles devices;
  testing::Slice(node, devices);
  model::Gpu& gpu = node.gpus[0];
  EXPECT_EQ(*Names(gpu, nullptr, kAll), (Paths{"0", testing::kGpuUuid, "gpu0"}));
  model::ComputeInstance& compute = gpu.mig->instances[1].compute_instances[0];
  EXPECT_EQ(*Names(gpu, &compute, kAll), (Paths{"0:3", compute.uuid.value(), "mig0:3"}));
  // As drivers before R470 called them.
  compute.uuid = model::MigUuid(std::string("MIG-") + testing::kGpuUuid + "/5/0");
  EXPECT_EQ(Names(gpu, &compute, kAll)->at(1), std::string("MIG-") + testing::kGpuUuid + "_5_0");
  compute.slot.reset();
  EXPECT_EQ(Names(gpu, &compute, kAll).error().ToString(),
            "the driver does not say the index of a MIG device of GPU 0");
}

}  // namespace
}  // namespace partita::service::cdi
