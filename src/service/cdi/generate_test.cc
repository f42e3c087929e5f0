#include "service/cdi/generate.h"

#include <gtest/gtest.h>

#include "cdi/text.h"
#include "service/cdi/testing/driver_tree.h"
#include "service/cdi/testing/sample_node.h"
#include "tests/golden/golden.h"

namespace partita::service::cdi {
namespace {

using partita::cdi::Device;
using partita::cdi::DeviceNode;
using Names = std::vector<std::string>;

struct Case {
  model::Inventory node = testing::SampleNode();
  DriverFiles driver = testing::SampleFiles();
  DeviceFiles devices = testing::SampleNodes();
  Places places;
  GenerateOptions options;

  Case() { options.hooks = testing::SampleHooks(); }
  [[nodiscard]] base::Result<Generated> Make() const {
    return Generate(node, driver, devices, places, options);
  }
};

Names GeneratedNames(const base::Result<Generated>& made) {
  Names names;
  if (!made.ok()) return {made.error().ToString()};
  for (const Device& device : made->spec.devices) names.push_back(device.name);
  return names;
}

Names NodePathsOfDevice(const Generated& made, std::string_view device) {
  Names paths;
  for (const Device& each : made.spec.devices) {
    if (each.name != device) continue;
    for (const DeviceNode& node : each.edits.device_nodes) paths.push_back(node.path);
  }
  return paths;
}

// What the reference prints for this node, byte for byte.
TEST(Generate, F1) {
  Case f1;
  f1.options.namings = {Naming::kIndex};
  const auto made = f1.Make();
  ASSERT_TRUE(made.ok()) << made.error().ToString();
  golden::ExpectGolden("cdi/f1.yaml", partita::cdi::ToYaml(made->spec));
}

TEST(Generate, G1EveryNamingIsADevice) {
  const auto made = Case().Make();
  EXPECT_EQ(GeneratedNames(made), (Names{"0", testing::kGpuUuid, "all"}));
  EXPECT_EQ(NodePathsOfDevice(*made, "all"), Names{"/dev/nvidia0"});
}

TEST(Generate, G2TheRootIsOnTheHostAlone) {
  Case rooted;
  const testing::DriverTree tree;
  testing::MakeSmallDriver(tree);
  rooted.driver = *ReadDriverFiles(tree.Open("/run/nvidia/driver"), {}, "550.90.07", {});
  rooted.places = {"/run/nvidia/driver", "/run/nvidia/driver"};
  const auto made = rooted.Make();
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->spec.version, "0.5.0");
  for (const partita::cdi::Mount& mount : made->spec.edits.mounts)
    EXPECT_EQ(mount.host_path, "/run/nvidia/driver" + mount.container_path);
  for (const DeviceNode& node : made->spec.edits.device_nodes)
    EXPECT_EQ(node.host_path, "/run/nvidia/driver" + node.path);
  EXPECT_EQ(made->spec.edits.env[0], "NVIDIA_CTK_LIBCUDA_DIR=/usr/lib/x86_64-linux-gnu");
}

TEST(Generate, G3TheDevRootMayBeAnother) {
  Case gke;
  gke.places = {"/home/kubernetes/bin/nvidia", "/"};
  const auto made = gke.Make();
  ASSERT_TRUE(made.ok());
  for (const DeviceNode& node : made->spec.edits.device_nodes) EXPECT_EQ(node.host_path, "");
}

TEST(Generate, G4NamesWithoutADigitNeedNoNewVersion) {
  Case typed;
  typed.options.namings = {Naming::kTypeIndex};
  const auto made = typed.Make();
  EXPECT_EQ(GeneratedNames(made), (Names{"all", "gpu0"}));
  EXPECT_EQ(made->spec.version, "0.3.0");
}

TEST(Generate, G5DrmNodesBringGroups) {
  Case drm;
  testing::Put(drm.devices, "/dev/dri/card0", 226, 0, 0660, 44);
  testing::Put(drm.devices, "/dev/dri/renderD128", 226, 128, 0660, 109);
  drm.devices.drm[drm.node.gpus[0].pci] = {"card0", "renderD128"};
  auto made = drm.Make();
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->spec.version, "0.7.0");
  EXPECT_EQ(made->spec.devices[0].edits.additional_gids, (std::vector<std::uint32_t>{44, 109}));
  EXPECT_EQ(made->spec.devices[2].name, "all");
  EXPECT_EQ(made->spec.devices[2].edits.additional_gids, (std::vector<std::uint32_t>{44, 109}));

  drm.options.hooks.additional_gids = false;
  made = drm.Make();
  EXPECT_EQ(made->spec.version, "0.5.0");
  EXPECT_EQ(made->spec.devices[0].edits.device_nodes[1].gid, 44U);

  drm.options.hooks.additional_gids = true;
  drm.options.version_max = partita::cdi::Version{0, 6, 0};
  made = drm.Make();
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->spec.version, "0.5.0");
  EXPECT_FALSE(made->warnings.empty());
}

TEST(Generate, G7SlicesKeepTheirSlots) {
  Case sliced;
  testing::Slice(sliced.node, sliced.devices);
  sliced.options.namings = {Naming::kIndex};
  const auto made = sliced.Make();
  EXPECT_EQ(GeneratedNames(made), (Names{"0:0", "0:3", "all"}));
  EXPECT_EQ(NodePathsOfDevice(*made, "0:3"), (Names{"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap48",
                                                    "/dev/nvidia-caps/nvidia-cap49"}));
  EXPECT_EQ(NodePathsOfDevice(*made, "all").size(), 5U);
}

TEST(Generate, G8AMissingNodeFailsUnlessTheRestWillDo) {
  Case sliced;
  testing::Slice(sliced.node, sliced.devices);
  sliced.options.namings = {Naming::kIndex};
  sliced.devices.nodes.erase("/dev/nvidia-caps/nvidia-cap13");
  EXPECT_EQ(GeneratedNames(sliced.Make())[0],
            "/dev/nvidia-caps/nvidia-cap13 is missing, which compute instance 0 of GPU instance 1 "
            "of GPU 0 needs");
  sliced.options.best_effort = true;
  const auto made = sliced.Make();
  EXPECT_EQ(GeneratedNames(made), (Names{"0:3", "all"}));
  EXPECT_EQ(made->left_out.size(), 1U);
}

// The library gives the index of such a GPU to the next one.
// The library counts without it: 0:0 would be the one that was 0:1.
TEST(Generate, NumbersThatWouldBeOthersAreLeftOut) {
  Case sliced;
  testing::Slice(sliced.node, sliced.devices);
  sliced.devices.nodes.erase("/dev/nvidia-caps/nvidia-cap13");
  auto& instances = sliced.node.gpus[0].mig->instances;
  instances[0].compute_instances[0].slot.reset();
  instances[1].compute_instances[0].slot = 0;
  const std::string uuid = instances[1].compute_instances[0].uuid.value();
  sliced.options.best_effort = true;
  EXPECT_EQ(GeneratedNames(sliced.Make()), (Names{uuid, "all"}));
  sliced.options.numbers = Numbers::kAsCounted;
  EXPECT_EQ(GeneratedNames(sliced.Make()), (Names{"0:0", uuid, "all"}));
  sliced.options.device_ids = {"0:0"};
  EXPECT_EQ(GeneratedNames(sliced.Make())[0],
            "0:0: its number may be another's now: /dev/nvidia-caps/nvidia-cap13 is missing, which "
            "compute instance 0 of GPU instance 1 of GPU 0 needs");
}

TEST(Generate, AGpuWithoutItsNodeIsRefusedThoughTheDriverDoesNotListIt) {
  Case each;
  model::Gpu unlisted = testing::SampleGpu();
  unlisted.index.reset();
  unlisted.pci.bus = 0x5e;
  unlisted.minor = model::DeviceMinor(1);
  unlisted.faults = {{model::FaultKind::kMissing, "x"}};
  each.node.gpus.push_back(unlisted);
  const std::string why = "/dev/nvidia1 is missing, which the GPU at 0000:5e:00.0 needs";
  EXPECT_EQ(GeneratedNames(each.Make()), Names{why});
  each.options.best_effort = true;
  const auto made = each.Make();
  EXPECT_EQ(GeneratedNames(made), (Names{"0", testing::kGpuUuid, "all"}));
  ASSERT_EQ(made->left_out.size(), 1U);
  EXPECT_EQ(made->left_out[0].ToString(), why);
  each.options.best_effort = false;
  testing::Put(each.devices, "/dev/nvidia1", 195, 1);
  EXPECT_EQ(GeneratedNames(each.Make()),
            Names{"the driver does not list the GPU at 0000:5e:00.0, though its node is there"});
  each.devices.excluded.insert(unlisted.pci);
  EXPECT_EQ(each.Make()->warnings, Names{"the driver does not list the GPU at 0000:5e:00.0"});
}

TEST(Generate, G9EmptyNamesEveryReason) {
  Case empty;
  empty.node.gpus[0].mig = model::Mig();
  empty.node.gpus[0].mig->enabled = true;
  model::Gpu lost = testing::SampleGpu();
  lost.index = model::GpuIndex(1);
  lost.faults = {{model::FaultKind::kLost, "it is lost"}};
  empty.node.gpus.push_back(lost);
  empty.options.best_effort = true;
  EXPECT_EQ(GeneratedNames(empty.Make())[0],
            "no device to describe: GPU 0 is in MIG mode and has no MIG device; GPU 1: it is lost");
  empty.node.gpus.clear();
  EXPECT_EQ(GeneratedNames(empty.Make())[0], "no device to describe: the driver lists no GPU");
}

TEST(Generate, WhatEveryContainerNeedsIsMissed) {
  Case each;
  each.devices.nodes.erase("/dev/nvidia-uvm");
  std::erase_if(each.driver.driver, [](const partita::cdi::DriverFile& file) {
    return file.container_path.find("libcuda.so") != std::string::npos;
  });
  const auto made = each.Make();
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(
      made->warnings,
      (Names{
          "/dev/nvidia-uvm is missing: CUDA does not work without it (nvidia-modprobe -u makes it)",
          "the driver's libcuda.so was not found: CUDA does not work without it"}));
  each.devices.nodes.erase("/dev/nvidiactl");
  EXPECT_EQ(GeneratedNames(each.Make()),
            Names{"/dev/nvidiactl is missing: no GPU can be opened without it"});
}

TEST(Generate, G14WithoutHooks) {
  Case bare;
  bare.options.hooks.disabled = {"all"};
  const auto made = bare.Make();
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(partita::cdi::ToYaml(made->spec).find("hooks"), std::string::npos);
}

TEST(Generate, G15ManagementSeesWhatIsThere) {
  Case managed;
  managed.options.mode = Mode::kManagement;
  managed.node = {};
  for (const char* path :
       {"/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia-fs0", "/dev/nvidia-nvswitch0",
        "/dev/nvidia-caps-imex-channels/channel0", "/dev/dri/card0"})
    testing::Put(managed.devices, path, 1, 1);
  const auto made = managed.Make();
  EXPECT_EQ(GeneratedNames(made), Names{"all"});
  EXPECT_EQ(NodePathsOfDevice(*made, "all"),
            (Names{"/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia0", "/dev/nvidiactl",
                   "/dev/nvidia-caps-imex-channels/channel0", "/dev/nvidia-caps/nvidia-cap1"}));
  for (const partita::cdi::Hook& hook : made->spec.edits.hooks) {
    EXPECT_NE(hook.args[1], "disable-device-node-modification");
    EXPECT_NE(hook.args[1], "update-application-profile");
  }
  EXPECT_EQ(made->spec.edits.env.back(), "NVIDIA_VISIBLE_DEVICES=void");
}

TEST(Generate, G16ChannelsHaveNumbers) {
  Case imex;
  imex.options.mode = Mode::kImex;
  testing::Put(imex.devices, "/dev/nvidia-caps-imex-channels/channel3", 240, 3);
  EXPECT_EQ(GeneratedNames(imex.Make()), (Names{"3", "all"}));
  imex.options.device_ids = {"channel7"};
  EXPECT_EQ(GeneratedNames(imex.Make())[0],
            "IMEX channel 7: /dev/nvidia-caps-imex-channels/channel7 is missing");
  imex.options.device_ids = {"1048576"};
  EXPECT_EQ(GeneratedNames(imex.Make())[0],
            "\"1048576\": not an IMEX channel, which has a number from 0 to 1048575");
}

TEST(Generate, G17StorageWithoutNodesIsNothing) {
  Case gds;
  gds.options.mode = Mode::kGds;
  EXPECT_EQ(GeneratedNames(gds.Make())[0],
            "no device to describe: below / there is no /dev/nvidia-fs*");
  testing::Put(gds.devices, "/dev/nvidia-fs0", 250, 0);
  gds.driver = {};
  gds.driver.driver = {{.host_path = "/etc/cufile.json",
                        .container_path = "/etc/cufile.json",
                        .kind = partita::cdi::FileKind::kConfig,
                        .of = {},
                        .soname = "",
                        .elf32 = false}};
  const auto made = gds.Make();
  ASSERT_TRUE(made.ok()) << made.error().ToString();
  EXPECT_EQ(made->spec.devices[0].edits.mounts[0].container_path, "/etc/cufile.json");
}

TEST(Generate, G18TheSameNodeGivesTheSameBytes) {
  Case one, other;
  for (Case* each : {&one, &other}) testing::Slice(each->node, each->devices);
  std::reverse(other.driver.driver.begin(), other.driver.driver.end());
  std::reverse(other.node.gpus[0].mig->instances.begin(), other.node.gpus[0].mig->instances.end());
  EXPECT_EQ(partita::cdi::ToYaml(one.Make()->spec), partita::cdi::ToYaml(other.Make()->spec));
}

TEST(Generate, G20OldUuidsHaveNoSlashes) {
  Case old;
  testing::Slice(old.node, old.devices);
  old.options.namings = {Naming::kUuid};
  old.options.device_ids = {std::string("MIG-") + testing::kGpuUuid + "/1/0"};
  old.node.gpus[0].mig->instances[0].compute_instances[0].uuid =
      model::MigUuid(old.options.device_ids[0]);
  EXPECT_EQ(GeneratedNames(old.Make()),
            (Names{std::string("MIG-") + testing::kGpuUuid + "_1_0", "all"}));
}

TEST(Generate, NoneIsADeviceThatDoesNothing) {
  Case none;
  none.options.device_ids = {"0", "none"};
  const auto made = none.Make();
  EXPECT_EQ(GeneratedNames(made), Names{"none"});
  EXPECT_EQ(made->spec.devices[0].edits.env, Names{"NVCT_EMPTY_DEVICE="});
}

TEST(Generate, WithoutAll) {
  Case without;
  without.options.all_device = false;
  without.options.namings = {Naming::kIndex};
  EXPECT_EQ(GeneratedNames(without.Make()), Names{"0"});
}

TEST(ParseMode, RefusesThoseOfOtherMachinesByName) {
  EXPECT_EQ(*ParseMode("auto"), Mode::kNvml);
  EXPECT_EQ(ParseMode("csv").error().ToString(), "mode csv is not supported");
  EXPECT_EQ(ParseMode("x").error().code(), base::ErrorCode::kInvalid);
  EXPECT_EQ(ClassOf(Mode::kImex), "imex-channel");
}

}  // namespace
}  // namespace partita::service::cdi
