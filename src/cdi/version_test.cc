#include "cdi/version.h"

#include <functional>

#include <gtest/gtest.h>

#include "cdi/testing/f1.h"

namespace partita::cdi {
namespace {

// One device, no feature.
Spec Plain() {
  Spec spec;
  spec.version = "0.3.0";
  spec.kind = "nvidia.com/gpu";
  spec.devices = {{"gpu0", {}, {}}};
  spec.devices[0].edits.device_nodes.push_back({.path = "/dev/nvidia0"});
  return spec;
}

TEST(CdiVersion, IsReadWithAndWithoutItsLetter) {
  EXPECT_EQ(ParseVersion("0.5.0").value(), (Version{0, 5, 0}));
  EXPECT_EQ(ParseVersion("v1.1.0").value(), (Version{1, 1, 0}));
  EXPECT_EQ(ParseVersion("1.2.0").error().message(),
            "CDI version \"1.2.0\" is not known; the newest known is 1.1.0");
  EXPECT_EQ(ParseVersion("0.2.0").error().message(),
            "CDI version \"0.2.0\": it must be at least 0.3.0");
  for (const char* bad : {"", "0.5", "00.5.0", "vv0.5.0", "0.5.0 "})
    EXPECT_FALSE(ParseVersion(bad).ok()) << bad;
}

TEST(CdiVersion, IsTheLowestThatServes) {
  struct Case {
    const char* name;
    std::function<void(Spec&)> use;
    Version needs;
  };
  const Case cases[] = {
      {"nothing", [](Spec&) {}, {0, 3, 0}},
      {"a mount without a type",
       [](Spec& spec) {
         spec.edits.mounts = {{"/a", "/a", {"ro"}, ""}};
       },
       {0, 3, 0}},
      {"a mount's type",
       [](Spec& spec) {
         spec.edits.mounts = {{"/a", "/a", {}, "bind"}};
       },
       {0, 4, 0}},
      {"hostPath",
       [](Spec& spec) { spec.devices[0].edits.device_nodes[0].host_path = "/x"; },
       {0, 5, 0}},
      {"a digit", [](Spec& spec) { spec.devices[0].name = "0"; }, {0, 5, 0}},
      {"annotations", [](Spec& spec) { spec.annotations["a"] = "b"; }, {0, 6, 0}},
      {"a device's annotations",
       [](Spec& spec) { spec.devices[0].annotations["a"] = "b"; },
       {0, 6, 0}},
      {"a dot in the class", [](Spec& spec) { spec.kind = "nvidia.com/g.pu"; }, {0, 6, 0}},
      {"gids", [](Spec& spec) { spec.edits.additional_gids = {44}; }, {0, 7, 0}},
      {"a device's gids",
       [](Spec& spec) { spec.devices[0].edits.additional_gids = {44}; },
       {0, 7, 0}},
      {"intelRdt", [](Spec& spec) { spec.edits.intel_rdt = IntelRdt{}; }, {0, 7, 0}},
      {"schemata",
       [](Spec& spec) {
         spec.edits.intel_rdt = IntelRdt{};
         spec.edits.intel_rdt->schemata = {"L3:0=f"};
       },
       {1, 1, 0}},
      {"monitoring",
       [](Spec& spec) {
         spec.devices[0].edits.intel_rdt = IntelRdt{};
         spec.devices[0].edits.intel_rdt->enable_monitoring = true;
       },
       {1, 1, 0}},
      {"net devices",
       [](Spec& spec) {
         spec.edits.net_devices = {{"eth0", "eth1"}};
       },
       {1, 1, 0}},
  };
  for (const Case& each : cases) {
    Spec spec = Plain();
    each.use(spec);
    EXPECT_EQ(MinimumVersion(spec).ToString(), each.needs.ToString()) << each.name;
  }
  EXPECT_EQ(MinimumVersion(testing::F1()).ToString(), "0.5.0");
}

TEST(CdiVersion, CapDropsGidsAndSaysSo) {
  Spec spec = testing::F1();
  spec.edits.additional_gids = {44};
  spec.devices[0].edits.additional_gids = {44, 109};
  const auto removed = Cap(spec, {0, 6, 0});
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(*removed, (std::vector<std::string>{
                          "additionalGids of the common edits, device 0, which CDI has since "
                          "0.7.0"}));
  EXPECT_EQ(spec, testing::F1());
}

TEST(CdiVersion, CapKeepsWhatFits) {
  Spec spec = testing::F1();
  spec.edits.additional_gids = {44};
  const Spec before = spec;
  const auto removed = Cap(spec, {0, 7, 0});
  ASSERT_TRUE(removed.ok());
  EXPECT_TRUE(removed->empty());
  EXPECT_EQ(spec, before);
}

TEST(CdiVersion, CapTakesOutEveryNewerFeature) {
  Spec spec = Plain();
  const Spec before = spec;
  spec.annotations["a"] = "b";
  spec.devices[0].annotations["a"] = "b";
  spec.edits.net_devices = {{"eth0", "eth1"}};
  spec.edits.intel_rdt = IntelRdt{};
  spec.edits.intel_rdt->schemata = {"L3:0=f"};
  spec.edits.intel_rdt->enable_monitoring = true;
  spec.devices[0].edits.device_nodes[0].host_path = "/dev/nvidia0";
  const auto removed = Cap(spec, {0, 3, 0});
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(*removed,
            (std::vector<std::string>{
                "annotations of the specification, device gpu0, which CDI has since 0.6.0",
                "netDevices of the common edits, which CDI has since 1.1.0",
                "schemata of intelRdt of the common edits, which CDI has since 1.1.0",
                "enableMonitoring of intelRdt of the common edits, which CDI has since 1.1.0",
                "intelRdt of the common edits, which CDI has since 0.7.0"}));
  EXPECT_EQ(spec, before);
}

TEST(CdiVersion, CapRefusesHostPath) {
  Spec spec = Plain();
  spec.devices[0].edits.device_nodes[0].host_path = "/run/nvidia/driver/dev/nvidia0";
  spec.annotations["a"] = "b";
  const Spec before = spec;
  const auto removed = Cap(spec, {0, 4, 0});
  ASSERT_FALSE(removed.ok());
  EXPECT_EQ(removed.error().code(), base::ErrorCode::kUnsupported);
  EXPECT_EQ(removed.error().message(),
            "device gpu0: hostPath of /dev/nvidia0 needs CDI 0.5.0, and 0.4.0 is the most that was "
            "allowed");
  EXPECT_EQ(spec, before);
}

TEST(CdiVersion, CapRefusesWhatHasNoOtherName) {
  Spec digits = testing::F1();
  EXPECT_EQ(Cap(digits, {0, 4, 0}).error().message(),
            "the name \"0\", which begins with a digit, needs CDI 0.5.0, and 0.4.0 is the most "
            "that was allowed");
  Spec dot = Plain();
  dot.kind = "nvidia.com/g.pu";
  EXPECT_EQ(Cap(dot, {0, 5, 0}).error().message(),
            "the dot in the class of nvidia.com/g.pu needs CDI 0.6.0, and 0.5.0 is the most that "
            "was allowed");
  Spec tmpfs = Plain();
  tmpfs.edits.mounts = {{"tmpfs", "/run/x", {"nodev"}, "tmpfs"}};
  EXPECT_EQ(Cap(tmpfs, {0, 3, 0}).error().message(),
            "the common edits: type tmpfs of the mount /run/x needs CDI 0.4.0, and 0.3.0 is the "
            "most that was allowed");
  Spec bind = Plain();
  bind.edits.mounts = {{"/a", "/a", {"ro", "rbind"}, "bind"}};
  ASSERT_TRUE(Cap(bind, {0, 3, 0}).ok());
  EXPECT_EQ(bind.edits.mounts[0].type, "");
}

TEST(CdiVersion, CapLeavesNoDeviceEmpty) {
  Spec spec = Plain();
  spec.devices[0].edits = {};
  spec.devices[0].edits.additional_gids = {44};
  EXPECT_EQ(Cap(spec, {0, 6, 0}).error().message(),
            "all that device gpu0 holds needs CDI 0.7.0, and 0.6.0 is the most that was allowed");
}

}  // namespace
}  // namespace partita::cdi
