#include "hook/legacy/plan.h"

#include <gtest/gtest.h>

namespace partita::hook {
namespace {

using cdi::Capability;
using cdi::FileKind;
using Words = std::vector<std::string>;

cdi::DriverFile File(const std::string& path, FileKind kind, std::vector<Capability> of) {
  cdi::DriverFile file;
  file.host_path = "/drv" + path;
  file.container_path = path;
  file.kind = kind;
  file.of = std::move(of);
  return file;
}
cdi::DeviceNode Control(const std::string& name, int major, int minor) {
  cdi::DeviceNode node;
  node.path = "/dev/" + name;
  node.major = major;
  node.minor = minor;
  return node;
}

cdi::NodeDevices LegacyNode() {
  cdi::NodeDevices node;
  node.driver_root = node.dev_root = "/drv";
  node.caps_major = 241;
  node.control_nodes = {Control("nvidiactl", 195, 255), Control("nvidia-uvm", 511, 0),
                        Control("nvidia-uvm-tools", 511, 1), Control("nvidia-modeset", 195, 254)};
  const std::string lib = "/usr/lib/x86_64-linux-gnu/nvidia/current/";
  node.files = {
      File(lib + "libcuda.so.550.1", FileKind::kLibrary, {Capability::kCompute}),
      File(lib + "libnvidia-ml.so.550.1", FileKind::kLibrary, {Capability::kUtility}),
      File(lib + "libnvidia-encode.so.550.1", FileKind::kLibrary, {Capability::kVideo}),
      File(lib + "libnvidia-opticalflow.so.550.1", FileKind::kLibrary, {Capability::kVideo}),
      File(lib + "libGLX_nvidia.so.550.1", FileKind::kLibrary,
           {Capability::kGraphics, Capability::kDisplay}),
      File("/usr/bin/nvidia-smi", FileKind::kBinary, {Capability::kUtility}),
      File("/usr/bin/nvidia-cuda-mps-control", FileKind::kBinary, {Capability::kCompute}),
      File("/lib/firmware/nvidia/550.1/gsp_tu10x.bin", FileKind::kFirmware, {}),
      File("/run/nvidia-persistenced/socket", FileKind::kSocket, {Capability::kUtility}),
      File("/tmp/nvidia-mps", FileKind::kSocket, {Capability::kCompute}),
      File("/usr/share/vulkan/icd.d/nvidia_icd.json", FileKind::kConfig, {Capability::kGraphics})};
  cdi::DriverFile old =
      File("/usr/lib32/libcuda.so.550.1", FileKind::kLibrary, {Capability::kCompute});
  old.elf32 = true;
  node.files.push_back(old);
  return node;
}

HostProc Proc() {
  HostProc proc;
  proc.gpus = {{0, "0000:3b:00.0"}, {3, "00000001:5e:00.0"}};
  proc.access = {{"gpu0/mig/gi1/access", 12},
                 {"gpu0/mig/gi1/ci0/access", 13},
                 {"gpu3/mig/gi2/access", 400},
                 {"mig/config", 1},
                 {"mig/monitor", 2}};
  return proc;
}

cdi::DeviceRow Gpu(std::uint32_t index, std::uint32_t minor) {
  cdi::DeviceRow row;
  row.index = index;
  row.minor = minor;
  return row;
}
cdi::DeviceRow Slice(std::uint32_t minor) {
  cdi::DeviceRow row = Gpu(0, minor);
  row.mig =
      cdi::DeviceRow::Mig{.slot = 0, .gi = 1, .ci = 0, .gi_cap = 12, .ci_cap = 13, .uuid = "MIG-x"};
  return row;
}

LegacyPlan Plan(const LegacyOrder& order, bool debian = true) {
  ImageFacts image;
  image.debian_like = debian;
  const base::Result<LegacyPlan> plan = PlanLegacy(order, LegacyNode(), Proc(), image);
  EXPECT_TRUE(plan.ok()) << plan.error().ToString();
  return *plan;
}
Words Targets(const LegacyPlan& plan) {
  Words targets;
  for (const MountStep& mount : plan.mounts) targets.push_back(mount.container_path);
  return targets;
}
Words Nodes(const LegacyPlan& plan) {
  Words nodes;
  for (const NodeStep& node : plan.nodes)
    nodes.push_back(node.container_path + " " + ToString(node.rule));
  return nodes;
}
Words Rules(const LegacyPlan& plan) {
  Words rules;
  for (const DeviceRule& rule : plan.rules) rules.push_back(ToString(rule));
  return rules;
}

LegacyOrder Order(std::vector<cdi::DeviceRow> devices, std::set<Capability> capabilities) {
  LegacyOrder order;
  order.devices = std::move(devices);
  order.capabilities = std::move(capabilities);
  return order;
}

TEST(PlanLegacy, UtilityHasItsOwnFilesAndTheControlNode) {
  const LegacyPlan plan = Plan(Order({Gpu(0, 0)}, {Capability::kUtility}));
  EXPECT_EQ(Targets(plan),
            (Words{"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.1", "/usr/bin/nvidia-smi",
                   "/lib/firmware/nvidia/550.1/gsp_tu10x.bin", "/run/nvidia-persistenced/socket"}));
  EXPECT_EQ(Nodes(plan), (Words{"/dev/nvidiactl c 195:255 rw", "/dev/nvidia0 c 195:0 rw"}));
  EXPECT_EQ(plan.proc.gpus, (Words{"0000:3b:00.0"}));
  EXPECT_EQ(plan.nodes[1].host_path, "/drv/dev/nvidia0");
  EXPECT_FALSE(plan.egl_mask.has_value());
}

TEST(PlanLegacy, ComputeHasUvmAndItsLink) {
  const LegacyPlan plan = Plan(Order({Gpu(0, 0)}, {Capability::kCompute}));
  EXPECT_EQ(Targets(plan),
            (Words{"/usr/lib/x86_64-linux-gnu/libcuda.so.550.1", "/usr/bin/nvidia-cuda-mps-control",
                   "/lib/firmware/nvidia/550.1/gsp_tu10x.bin", "/tmp/nvidia-mps"}));
  EXPECT_EQ(Nodes(plan), (Words{"/dev/nvidiactl c 195:255 rw", "/dev/nvidia-uvm c 511:0 rw",
                                "/dev/nvidia-uvm-tools c 511:1 rw", "/dev/nvidia0 c 195:0 rw"}));
  EXPECT_EQ(plan.links,
            (std::vector<LinkToMake>{{"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so"}}));
  EXPECT_EQ(plan.library_directories, (Words{"/usr/lib/x86_64-linux-gnu"}));
}

TEST(PlanLegacy, VideoBringsLibrariesOfComputeAndNothingElseOfIt) {
  const LegacyPlan plan = Plan(Order({}, {Capability::kVideo}));
  EXPECT_EQ(Targets(plan), (Words{"/usr/lib/x86_64-linux-gnu/libcuda.so.550.1",
                                  "/usr/lib/x86_64-linux-gnu/libnvidia-encode.so.550.1",
                                  "/usr/lib/x86_64-linux-gnu/libnvidia-opticalflow.so.550.1",
                                  "/lib/firmware/nvidia/550.1/gsp_tu10x.bin"}));
  EXPECT_EQ(plan.links.back(), (LinkToMake{"libnvidia-opticalflow.so.1",
                                           "/usr/lib/x86_64-linux-gnu/libnvidia-opticalflow.so"}));
}

TEST(PlanLegacy, GraphicsHasAMaskAndDisplayItsNodeToo) {
  const LegacyPlan graphics = Plan(Order({Gpu(1, 3)}, {Capability::kGraphics}));
  EXPECT_EQ(graphics.egl_mask, 8U);
  EXPECT_EQ(graphics.links,
            (std::vector<LinkToMake>{
                {"libGLX_nvidia.so.550.1", "/usr/lib/x86_64-linux-gnu/libGLX_indirect.so.0"}}));
  EXPECT_EQ(Nodes(graphics), (Words{"/dev/nvidiactl c 195:255 rw", "/dev/nvidia3 c 195:3 rw"}));
  const LegacyPlan display = Plan(Order({Gpu(1, 3)}, {Capability::kDisplay}));
  EXPECT_EQ(display.egl_mask, 8U);
  EXPECT_EQ(Nodes(display)[1], "/dev/nvidia-modeset c 195:254 rw");
}

TEST(PlanLegacy, LibrariesGoWhereTheImageHasThem) {
  const LegacyPlan plan = Plan(Order({}, {Capability::kCompute, Capability::kCompat32}), false);
  EXPECT_EQ(Targets(plan).front(), "/usr/lib64/libcuda.so.550.1");
  EXPECT_EQ(Targets(plan).back(), "/usr/lib/libcuda.so.550.1");
  EXPECT_EQ(plan.library_directories, (Words{"/usr/lib64", "/usr/lib"}));
  EXPECT_EQ(plan.links.size(), 2U);
  ImageFacts image;
  image.has_lib32 = true;
  EXPECT_EQ(LibraryDirectory32(image), "/usr/lib32");
}

TEST(PlanLegacy, WithoutCompat32NoOldLibraries) {
  for (const std::string& target : Targets(Plan(Order({}, {Capability::kCompute}))))
    EXPECT_EQ(target.find("i386"), std::string::npos);
}

TEST(PlanLegacy, AttributesAreByWhatItIs) {
  const LegacyPlan plan = Plan(Order({}, {Capability::kUtility}));
  EXPECT_EQ(plan.mounts[0].attributes, (MountAttributes{true, false, true}));
  EXPECT_EQ(plan.mounts[3].container_path, "/run/nvidia-persistenced/socket");
  EXPECT_EQ(plan.mounts[3].attributes, (MountAttributes{false, true, true}));
}

TEST(PlanLegacy, ASliceHasItsGpuAndTwoCapabilities) {
  const LegacyPlan plan = Plan(Order({Slice(0), Slice(0)}, {Capability::kUtility}));
  EXPECT_EQ(Nodes(plan), (Words{"/dev/nvidiactl c 195:255 rw", "/dev/nvidia0 c 195:0 rw",
                                "/dev/nvidia-caps/nvidia-cap12 c 241:12 rw",
                                "/dev/nvidia-caps/nvidia-cap13 c 241:13 rw"}));
  EXPECT_EQ(plan.proc.access, (Words{"gpu0/mig/gi1/access", "gpu0/mig/gi1/ci0/access"}));
  EXPECT_EQ(plan.proc.gpus, (Words{"0000:3b:00.0"}));
  EXPECT_FALSE(plan.proc.all_capabilities);
}

TEST(PlanLegacy, ADriverWithoutCapabilityNodesHasFilesAlone) {
  cdi::NodeDevices node = LegacyNode();
  node.caps_major = 0;
  const LegacyPlan plan = *PlanLegacy(Order({Slice(0)}, {Capability::kUtility}), node, Proc(), {});
  EXPECT_EQ(plan.nodes.size(), 2U);
  EXPECT_EQ(plan.proc.access.size(), 2U);
}

TEST(PlanLegacy, WhoChangesMigSeesAllOfItsGpus) {
  LegacyOrder order = Order({Gpu(0, 0)}, {Capability::kUtility});
  order.mig_config = true;
  const LegacyPlan plan = Plan(order);
  EXPECT_TRUE(plan.proc.all_capabilities);
  EXPECT_EQ(Rules(plan),
            (Words{"c 195:255 rw", "c 195:0 rw", "c 241:12 rw", "c 241:13 rw", "c 241:1 rw"}));
  EXPECT_EQ(plan.mounts.back(),
            (MountStep{"/drv/dev/nvidia-caps", "/dev/nvidia-caps", {true, true, false}}));
}

TEST(PlanLegacy, RulesWithoutNodes) {
  LegacyOrder order = Order({Gpu(0, 0)}, {Capability::kUtility});
  order.bind_nodes = false;
  EXPECT_EQ(Nodes(Plan(order)), Words{});
  EXPECT_EQ(Rules(Plan(order)), (Words{"c 195:255 rw", "c 195:0 rw"}));
}

TEST(PlanLegacy, ChannelsNeedADriverThatHasThem) {
  LegacyOrder order = Order({Gpu(0, 0)}, {Capability::kUtility});
  order.imex_channels = {7};
  const auto none = PlanLegacy(order, LegacyNode(), Proc(), {});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().ToString(), "IMEX channel 7: this driver has no IMEX channels");
  order.imex_major = 240;
  EXPECT_EQ(Nodes(Plan(order)).back(), "/dev/nvidia-caps-imex-channels/channel7 c 240:7 rw");
}

TEST(PlanLegacy, AMissingControlNodeIsNamed) {
  cdi::NodeDevices node = LegacyNode();
  node.control_nodes.clear();
  const auto plan = PlanLegacy(Order({Gpu(0, 0)}, {Capability::kUtility}), node, Proc(), {});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().ToString(), "the device node /drv/dev/nvidiactl is not there");
  EXPECT_TRUE(PlanLegacy(Order({}, {Capability::kUtility}), node, Proc(), {}).ok());
}

}  // namespace
}  // namespace partita::hook
