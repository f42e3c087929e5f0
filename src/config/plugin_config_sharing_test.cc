#include <gtest/gtest.h>

#include "config/plugin_config.h"

namespace partita::config {
namespace {

using Kind = SharedDevices::Kind;

base::Result<PluginConfigResult> ParseSharing(std::string text) {
  return ParsePluginConfig(std::move(text), "c.yaml", PluginDefaults::kReference, false, false, {});
}

// A section with one entry of these words behind its name and replicas.
std::string Entry(const std::string& more) {
  return "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4" + more + "}]}}\n";
}

std::string SharingErrorOf(std::string text) {
  const auto parsed = ParseSharing(std::move(text));
  return parsed.ok() ? "" : parsed.error().ToString();
}

SharedDevices SharedDevicesOf(const std::string& devices) {
  const auto parsed = ParseSharing(Entry(", devices: " + devices));
  EXPECT_TRUE(parsed.ok()) << parsed.error().ToString();
  if (!parsed.ok()) return {};
  return parsed->config.time_slicing->resources.front().devices;
}

TEST(PluginConfigSharing, SharesEveryDeviceUnlessItIsToldWhich) {
  const auto parsed = ParseSharing(Entry(""));
  ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
  const SharingSection& section = *parsed->config.time_slicing;
  EXPECT_FALSE(section.rename_by_default);
  EXPECT_FALSE(section.fail_requests_greater_than_one);
  ASSERT_EQ(section.resources.size(), 1U);
  EXPECT_EQ(section.resources[0].name, "nvidia.com/gpu");
  EXPECT_EQ(section.resources[0].rename, std::nullopt);
  EXPECT_EQ(section.resources[0].replicas, 4U);
  EXPECT_EQ(section.resources[0].devices.kind, Kind::kAll);
  EXPECT_EQ(section.place, (Place{"c.yaml", 1, 11}));
  EXPECT_EQ(section.resources[0].place, (Place{"c.yaml", 1, 37}));
}

TEST(PluginConfigSharing, TakesDevicesInEveryForm) {
  EXPECT_EQ(SharedDevicesOf("all").kind, Kind::kAll);
  EXPECT_EQ(SharedDevicesOf("").kind, Kind::kAll);
  EXPECT_EQ(SharedDevicesOf("2"), (SharedDevices{Kind::kCount, 2, {}}));
  const std::string uuid = "4cf8db2d-06c0-7d70-1a51-e59b25b2c16c";
  EXPECT_EQ(
      SharedDevicesOf("[0, \"01\", \"0:1\", GPU-" + uuid + ", MIG-" + uuid + ", MIG-GPU-" + uuid +
                      "/0/0]"),
      (SharedDevices{Kind::kList,
                     0,
                     {"0", "1", "0:1", "GPU-" + uuid, "MIG-" + uuid, "MIG-GPU-" + uuid + "/0/0"}}));
}

TEST(PluginConfigSharing, RefusesWhatNamesNoDevice) {
  const std::string uuid = "4cf8db2d-06c0-7d70-1a51-e59b25b2c16c";
  for (const std::string& bad :
       {std::string("not-all"), std::string("-2"), std::string("2.0"), std::string("0"),
        std::string("\"2\""), std::string("{a: 1}"), std::string("[-1]"), std::string("[\"-1\"]"),
        std::string("[2.0]"), std::string("[GPU-UUID]"), "[MIG-GPU-" + uuid + "]",
        "[MIG-GPU-" + uuid + "/0]", "[MIG-GPU-" + uuid + "/x/0]", std::string("[\"0:1:2\"]"),
        std::string("[\":1\"]"), std::string("[[0]]"), std::string("[]"), std::string("[0, \"0\"]"),
        std::string("99999999999")})
    EXPECT_NE(SharingErrorOf(Entry(", devices: " + bad)), "") << bad;
  EXPECT_EQ(SharingErrorOf("sharing:\n"
                           "  timeSlicing:\n"
                           "    resources:\n"
                           "    - name: gpu\n"
                           "      replicas: 2\n"
                           "      devices: [GPU-UUID]\n"
                           "    - name: mig-1g.5gb\n"
                           "      replicas: 2\n"
                           "      devices: some\n"),
            "c.yaml:6:17: \"GPU-UUID\" names no device\n"
            "    6 |       devices: [GPU-UUID]\n"
            "      |                 ^^^^^^^^ an index (0), a MIG index (\"0:1\"), GPU-<uuid> or "
            "MIG-<uuid>\n"
            "c.yaml:9:16: expected all, a number of devices or a list of them, not \"some\"\n"
            "    9 |       devices: some\n"
            "      |                ^^^^");
}

TEST(PluginConfigSharing, WantsResourcesAndTwoReplicas) {
  EXPECT_EQ(SharingErrorOf("sharing:\n  timeSlicing: {}\n"),
            "c.yaml:2:3: no resources specified\n"
            "    2 |   timeSlicing: {}\n"
            "      |   ^^^^^^^^^^^ add \"resources: [{name: nvidia.com/gpu, replicas: 2}]\"");
  EXPECT_EQ(SharingErrorOf("sharing:\n  timeSlicing: {resources: []}\n"),
            "c.yaml:2:28: no resources specified\n"
            "    2 |   timeSlicing: {resources: []}\n"
            "      |                            ^ add \"resources: [{name: nvidia.com/gpu, "
            "replicas: 2}]\"");
  EXPECT_EQ(
      SharingErrorOf("sharing:\n  timeSlicing:\n    resources:\n    - {name: gpu, replicas: 1}\n"),
      "c.yaml:4:29: expected a number from 2, not \"1\"\n"
      "    4 |     - {name: gpu, replicas: 1}\n"
      "      |                             ^");
  for (const char* entry :
       {"{name: gpu, replicas: 0}", "{name: gpu, replicas: -1}", "{name: gpu, replicas: \"4\"}",
        "{name: gpu}", "{replicas: 2}", "{name: $invalid$, replicas: 2}", "gpu",
        "{name: gpu, replicas: 2, rename: A}", "{name: gpu, replicas: 2, rename: [a]}"})
    EXPECT_NE(SharingErrorOf(std::string("sharing: {timeSlicing: {resources: [") + entry + "]}}"),
              "")
        << entry;
  EXPECT_NE(SharingErrorOf("sharing: {timeSlicing: {resources: {name: gpu}}}"), "");
  EXPECT_NE(SharingErrorOf("sharing: {timeSlicing: [a]}"), "");
}

TEST(PluginConfigSharing, RenamesByDefaultAndByName) {
  const auto parsed = ParseSharing(
      "sharing:\n"
      "  timeSlicing:\n"
      "    renameByDefault: true\n"
      "    failRequestsGreaterThanOne: true\n"
      "    resources:\n"
      "    - {name: gpu, replicas: 10, devices: [0]}\n"
      "    - {name: gpu, replicas: 2, devices: [1], rename: gpu.team-a}\n"
      "    - {name: mig-1g.5gb, replicas: 2, rename: \"\"}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
  const SharingSection& section = *parsed->config.time_slicing;
  EXPECT_TRUE(section.rename_by_default);
  EXPECT_TRUE(section.fail_requests_greater_than_one);
  EXPECT_EQ(section.resources[0].rename, "nvidia.com/gpu.shared");
  EXPECT_EQ(section.resources[1].rename, "nvidia.com/gpu.team-a");
  EXPECT_EQ(section.resources[2].rename, "nvidia.com/mig-1g.5gb.shared");
  const std::string name(50, 'a');
  EXPECT_EQ(
      SharingErrorOf("sharing:\n  timeSlicing:\n    renameByDefault: true\n    resources:\n    - "
                     "name: " +
                     name + "\n      replicas: 2\n"),
      "c.yaml:5:13: \"nvidia.com/" + name +
          ".shared\" has 68 bytes, more than 63\n"
          "    5 |     - name: " +
          name +
          "\n"
          "      |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ "
          "\"renameByDefault\" adds \".shared\": give it a \"rename\"");
}

TEST(PluginConfigSharing, TellsADeviceThatIsSharedTwiceAtBothPlaces) {
  EXPECT_EQ(SharingErrorOf("sharing:\n"
                           "  timeSlicing:\n"
                           "    resources:\n"
                           "    - {name: gpu, replicas: 2, devices: [0, 1]}\n"
                           "    - {name: gpu, replicas: 4, devices: [1, 2]}\n"),
            "c.yaml:4:41: device \"1\" is shared twice as \"nvidia.com/gpu\"\n"
            "    4 |     - {name: gpu, replicas: 2, devices: [0, 1]}\n"
            "      |                                         ^ also in line 5: give each entry "
            "devices of its own\n"
            "c.yaml:5:41: device \"1\" is shared twice as \"nvidia.com/gpu\"\n"
            "    5 |     - {name: gpu, replicas: 4, devices: [1, 2]}\n"
            "      |                                         ^ also in line 4: give each entry "
            "devices of its own");
  const auto both = [](const std::string& a, const std::string& b) {
    return SharingErrorOf("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2" + a +
                          "}, {name: nvidia.com/gpu, replicas: 3" + b + "}]}}");
  };
  EXPECT_NE(both("", ", devices: [0]"), "");
  EXPECT_NE(both(", devices: 1", ", devices: 2"), "");
  EXPECT_NE(both("", ""), "");
  EXPECT_EQ(both(", devices: [0]", ", devices: [1]"), "");
  // Which of them the count takes is known on the node alone.
  EXPECT_EQ(both(", devices: 1", ", devices: [1]"), "");
}

TEST(PluginConfigSharing, RefusesMoreSharesThanKubeletTakes) {
  EXPECT_EQ(
      SharingErrorOf("sharing:\n  timeSlicing:\n    resources:\n"
                     "    - {name: gpu, replicas: 60000}\n"),
      "c.yaml:4:29: 60000 replicas are too many\n"
      "    4 |     - {name: gpu, replicas: 60000}\n"
      "      |                             ^^^^^ kubelet takes 4 MiB of devices, about 50000");
  EXPECT_EQ(
      SharingErrorOf("sharing:\n  timeSlicing:\n    resources:\n"
                     "    - {name: gpu, replicas: 99999999999999999999}\n"),
      "c.yaml:4:29: 99999999999999999999 replicas are too many\n"
      "    4 |     - {name: gpu, replicas: 99999999999999999999}\n"
      "      |                             ^^^^^^^^^^^^^^^^^^^^ kubelet takes 4 MiB of devices, "
      "about 50000");
  EXPECT_EQ(
      SharingErrorOf("sharing:\n  timeSlicing:\n    resources:\n"
                     "    - {name: gpu, replicas: 20000, devices: 2}\n"
                     "    - {name: mig-1g.5gb, replicas: 20000, rename: gpu}\n"),
      "c.yaml:5:36: 60000 shares of \"nvidia.com/gpu\" are too many\n"
      "    5 |     - {name: mig-1g.5gb, replicas: 20000, rename: gpu}\n"
      "      |                                    ^^^^^ kubelet takes 4 MiB of devices, about "
      "50000");
  EXPECT_EQ(SharingErrorOf(Entry("")), "");
  EXPECT_NE(SharingErrorOf(Entry(", devices: 12501")), "");
  EXPECT_EQ(SharingErrorOf(Entry(", devices: 12500")), "");
}

TEST(PluginConfigSharing, MpsIsReadAsTimeSlicingIs) {
  const auto read = ParsePluginConfig(
      "sharing:\n"
      "  timeSlicing: {resources: [{name: gpu, replicas: 2, devices: [1]}]}\n"
      "  mps: {resources: [{name: nvidia.com/gpu, replicas: 4, devices: [0]}]}\n",
      "c.yaml", PluginDefaults::kProduct, true, false, {});
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  ASSERT_TRUE(read->config.mps);
  // One at most unless somebody says otherwise, as the reference has it.
  EXPECT_TRUE(read->config.mps->fail_requests_greater_than_one);
  EXPECT_FALSE(read->config.time_slicing->fail_requests_greater_than_one);
  ASSERT_EQ(read->config.mps->resources.size(), 1U);
  EXPECT_EQ(read->config.mps->resources[0].replicas, 4U);
  EXPECT_EQ(read->given.at("sharing.mps"), "c.yaml:3:3");
  EXPECT_EQ(SharingErrorOf("sharing:\n"
                           "  mps:\n"
                           "    resources: [{name: nvidia.com/gpu, replicas: 1}]\n"),
            "c.yaml:3:50: expected a number from 2, not \"1\"\n"
            "    3 |     resources: [{name: nvidia.com/gpu, replicas: 1}]\n"
            "      |                                                  ^");
}

// A device is shared in one way, which decides what its containers get.
TEST(PluginConfigSharing, OfBothSectionsNoneTakesADeviceOfTheOther) {
  const auto both = [](const std::string& sliced, const std::string& mps) {
    return SharingErrorOf("sharing:\n  mps: {resources: [{name: gpu, replicas: 2" + mps +
                          "}]}\n  timeSlicing: {resources: [{name: gpu, replicas: 3" + sliced +
                          "}]}\n");
  };
  EXPECT_EQ(both(", devices: [0, 1]", ", devices: [1, 2]"),
            "c.yaml:2:55: device \"1\" is shared twice as \"nvidia.com/gpu\"\n"
            "    2 |   mps: {resources: [{name: gpu, replicas: 2, devices: [1, 2]}]}\n"
            "      |                                                       ^ also in line 3: give "
            "each entry devices of its own\n"
            "c.yaml:3:63: device \"1\" is shared twice as \"nvidia.com/gpu\"\n"
            "    3 |   timeSlicing: {resources: [{name: gpu, replicas: 3, devices: [0, 1]}]}\n"
            "      |                                                               ^ also in line "
            "2: give each entry devices of its own");
  EXPECT_NE(both("", ", devices: [1]").find("all devices are shared twice"), std::string::npos);
  EXPECT_NE(both(", devices: 2", ", devices: 1").find("the lowest device is shared twice"),
            std::string::npos);
  EXPECT_EQ(both(", devices: [0]", ", devices: [1]"), "");
  EXPECT_EQ(both(", devices: 1", ", devices: [1]"), "");
}

// A reload that only moved lines changes nothing.
TEST(PluginConfigSharing, IsEqualWhereverItIsWritten) {
  EXPECT_EQ(ParseSharing(Entry(""))->config, ParseSharing("# moved\n" + Entry(""))->config);
  EXPECT_NE(ParseSharing(Entry(""))->config, ParseSharing(Entry(", devices: 1"))->config);
}

}  // namespace
}  // namespace partita::config
