#include "config/plugin_config_sizes.h"

#include <gtest/gtest.h>

namespace partita::config {
namespace {

using Sizes = std::vector<ShareSize>;

base::Result<PluginConfigResult> ParseSizes(std::string text, bool strict = true) {
  return ParsePluginConfig(std::move(text), "c.yaml", PluginDefaults::kProduct, strict, false, {});
}

// sharing.mps with these entries, which begin in line 4.
std::string ByMps(const std::string& entries) {
  return "sharing:\n  mps:\n    resources:\n" + entries;
}

// One entry of nvidia.com/gpu with these sizes.
std::string OfSizes(const std::string& sizes) {
  return ByMps("    - name: nvidia.com/gpu\n      shares: [" + sizes + "]\n");
}

std::string SizeErrorOf(std::string text) {
  const auto parsed = ParseSizes(std::move(text));
  return parsed.ok() ? "" : parsed.error().ToString();
}

TEST(PluginConfigSizes, AreNamesWithLimits) {
  const auto parsed =
      ParseSizes(ByMps("    - name: nvidia.com/gpu\n"
                       "      devices: [0, 1]\n"
                       "      shares:\n"
                       "      - {name: small, replicas: 4, memory: 8Gi, threads: 10}\n"
                       "      - {name: large, replicas: 1, memory: 50%, threads: 50}\n"
                       "    - {name: mig-3g.20gb, shares: [{name: small, replicas: 1, memory: 1G, "
                       "threads: 100}]}\n"));
  ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
  const std::vector<SharedResource>& entries = parsed->config.mps->resources;
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].shares,
            (Sizes{{"small", 4, std::uint64_t{8} << 30U, 0, 10}, {"large", 1, 0, 50, 50}}));
  EXPECT_EQ(entries[0].replicas, 5U);
  EXPECT_EQ(entries[0].NameOf(entries[0].shares[1]), "nvidia.com/gpu.large");
  EXPECT_EQ(entries[1].shares, (Sizes{{"small", 1, 1'000'000'000, 0, 100}}));
  EXPECT_EQ(entries[1].NameOf(entries[1].shares[0]), "nvidia.com/mig-3g.20gb.small");
}

TEST(PluginConfigSizes, StandBehindARenameAndNotBehindShared) {
  const auto parsed = ParseSizes(
      "sharing:\n"
      "  mps:\n"
      "    renameByDefault: true\n"
      "    resources:\n"
      "    - {name: gpu, devices: [0], shares: [{name: a, replicas: 1, memory: 1%, threads: 1}]}\n"
      "    - {name: gpu, devices: [1], rename: gpu.mps,\n"
      "       shares: [{name: a, replicas: 1, memory: 1%, threads: 1}]}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
  const std::vector<SharedResource>& entries = parsed->config.mps->resources;
  EXPECT_EQ(entries[0].NameOf(entries[0].shares[0]), "nvidia.com/gpu.a");
  EXPECT_EQ(entries[1].NameOf(entries[1].shares[0]), "nvidia.com/gpu.mps.a");
}

TEST(PluginConfigSizes, AreToldToBeOursWhereOthersReadTheFile) {
  const auto parsed = ParseSizes(OfSizes("{name: a, replicas: 1, memory: 1Gi, threads: 1}"));
  ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
  EXPECT_EQ(parsed->warnings,
            std::vector<std::string>{
                "c.yaml:5:7: \"shares\" is partita's extension\n"
                "    5 |       shares: [{name: a, replicas: 1, memory: 1Gi, threads: 1}]\n"
                "      |       ^^^^^^ NVIDIA's device plugin refuses a resource without "
                "\"replicas\""});
}

TEST(PluginConfigSizes, ReadBackAsTheyAreShown) {
  for (const char* memory : {"8Gi", "1536Mi", "1000000001", "20%"}) {
    const auto parsed = ParseSizes(
        OfSizes(std::string("{name: a, replicas: 3, memory: ") + memory + ", threads: 30}"));
    ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
    EXPECT_EQ(MemoryText(parsed->config.mps->resources[0].shares[0]), memory);
    const auto again = ParseSizes(base::ToYaml(PluginConfigDocument(parsed->config)));
    ASSERT_TRUE(again.ok()) << again.error().ToString();
    EXPECT_EQ(again->config, parsed->config);
  }
  // Another size is another configuration.
  EXPECT_NE(ParseSizes(OfSizes("{name: a, replicas: 1, memory: 1Gi, threads: 1}"))->config,
            ParseSizes(OfSizes("{name: a, replicas: 1, memory: 1Gi, threads: 2}"))->config);
}

TEST(PluginConfigSizes, ExcludeReplicasAndTimeSlices) {
  EXPECT_EQ(SizeErrorOf(ByMps("    - name: gpu\n"
                              "      replicas: 2\n"
                              "      shares: [{name: a, replicas: 1, memory: 1Gi, threads: 1}]\n")),
            "c.yaml:5:7: \"replicas\" and \"shares\" exclude each other\n"
            "    5 |       replicas: 2\n"
            "      |       ^^^^^^^^ each size has replicas of its own");
  EXPECT_EQ(SizeErrorOf("sharing:\n"
                        "  timeSlicing:\n"
                        "    resources:\n"
                        "    - name: gpu\n"
                        "      shares: [{name: a, replicas: 1, memory: 1Gi, threads: 1}]\n"),
            "c.yaml:5:7: only MPS has sizes of shares\n"
            "    5 |       shares: [{name: a, replicas: 1, memory: 1Gi, threads: 1}]\n"
            "      |       ^^^^^^ write it under \"sharing.mps\", or \"replicas\" here");
  EXPECT_EQ(SizeErrorOf(ByMps("    - {name: gpu, shares: []}\n")),
            "c.yaml:4:27: \"shares\" is empty\n"
            "    4 |     - {name: gpu, shares: []}\n"
            "      |                           ^ add {name: small, replicas: 4, memory: 8Gi, "
            "threads: 10}");
}

TEST(PluginConfigSizes, AreRefusedWhereTheyAreWrong) {
  EXPECT_EQ(
      SizeErrorOf(ByMps("    - name: gpu\n"
                        "      shares:\n"
                        "      - {name: Small, replicas: 0, memory: 8, threads: 101}\n"
                        "      - {name: b, replicas: 1, memory: 0%, thread: 10}\n"
                        "      - {name: shared, replicas: 1, memory: much, threads: 10}\n")),
      "c.yaml:6:16: \"Small\" is no name of a size\n"
      "    6 |       - {name: Small, replicas: 0, memory: 8, threads: 101}\n"
      "      |                ^^^^^ lower-case letters, digits and \"-\", a letter or digit at "
      "both ends\n"
      "c.yaml:6:33: expected a number from 1 to 48, not \"0\"\n"
      "    6 |       - {name: Small, replicas: 0, memory: 8, threads: 101}\n"
      "      |                                 ^\n"
      "c.yaml:6:44: 8 bytes are less than 1Mi, the least limit\n"
      "    6 |       - {name: Small, replicas: 0, memory: 8, threads: 101}\n"
      "      |                                            ^ write 8Gi for 8 GiB\n"
      "c.yaml:6:56: expected a number from 1 to 100, not \"101\"\n"
      "    6 |       - {name: Small, replicas: 0, memory: 8, threads: 101}\n"
      "      |                                                        ^^^\n"
      "c.yaml:7:9: missing key \"threads\"\n"
      "    7 |       - {name: b, replicas: 1, memory: 0%, thread: 10}\n"
      "      |         ^\n"
      "c.yaml:7:40: expected 1% to 100%, not \"0%\"\n"
      "    7 |       - {name: b, replicas: 1, memory: 0%, thread: 10}\n"
      "      |                                        ^^\n"
      "c.yaml:7:44: unknown key \"thread\"\n"
      "    7 |       - {name: b, replicas: 1, memory: 0%, thread: 10}\n"
      "      |                                            ^^^^^^ did you mean \"threads\"?\n"
      "c.yaml:8:16: \"shared\" is no name of a size\n"
      "    8 |       - {name: shared, replicas: 1, memory: much, threads: 10}\n"
      "      |                ^^^^^^ \"renameByDefault\" calls equal shares so: choose another\n"
      "c.yaml:8:45: expected an amount of memory or a percentage of the device's, not "
      "\"much\"\n"
      "    8 |       - {name: shared, replicas: 1, memory: much, threads: 10}\n"
      "      |                                             ^^^^ as 8Gi, 8G, 512Mi or 20%");
  const std::string rest = ", replicas: 1, memory: 1Gi, threads: 1}";
  for (const std::string& name : {std::string("a.b"), std::string("-a"), std::string("a-"),
                                  std::string("\"\""), std::string("[a]"), std::string(60, 'a')})
    EXPECT_NE(SizeErrorOf(OfSizes("{name: " + name + rest)), "") << name;
  for (const char* memory : {"101%", "-1Gi", "1.5", "1048575", "[1Gi]", "1%%", "\"\""})
    EXPECT_NE(SizeErrorOf(OfSizes(std::string("{name: a, replicas: 1, memory: ") + memory +
                                  ", threads: 1}")),
              "")
        << memory;
  for (const char* entry :
       {"{replicas: 1, memory: 1Gi, threads: 1}", "{name: a, memory: 1Gi, threads: 1}",
        "{name: a, replicas: 1, threads: 1}", "{name: a, replicas: 1, memory: 1Gi, threads: 0}",
        "small", "[small]", "{name: a, replicas: 1, memory: 1Gi, threads: 1, devices: [0]}"})
    EXPECT_NE(SizeErrorOf(OfSizes(entry)), "") << entry;
  EXPECT_NE(SizeErrorOf(ByMps("    - {name: gpu, shares: 4}\n")), "");
  // A key that is ours alone is wrong also where others' are passed over.
  EXPECT_FALSE(
      ParseSizes(OfSizes("{name: a, replicas: 1, memory: 1Gi, threads: 1, x: 1}"), false).ok());
}

TEST(PluginConfigSizes, AreNotMoreThanAnyDeviceServes) {
  EXPECT_EQ(SizeErrorOf(ByMps("    - name: gpu\n"
                              "      shares:\n"
                              "      - {name: a, replicas: 40, memory: 1Gi, threads: 1}\n"
                              "      - {name: b, replicas: 9, memory: 1Gi, threads: 1}\n")),
            "c.yaml:7:29: 49 shares of a device are too many\n"
            "    7 |       - {name: b, replicas: 9, memory: 1Gi, threads: 1}\n"
            "      |                             ^ it serves 48 clients of MPS at most");
  EXPECT_EQ(SizeErrorOf(OfSizes("{name: a, replicas: 40, memory: 1Gi, threads: 1}, "
                                "{name: b, replicas: 8, memory: 1Gi, threads: 1}")),
            "");
}

TEST(PluginConfigSizes, AreCalledAsNothingElseIs) {
  const std::string small = "{name: small, replicas: 1, memory: 1Gi, threads: 1}";
  EXPECT_EQ(SizeErrorOf(OfSizes(small + ",\n       " + small)),
            "c.yaml:6:15: \"small\" is named twice\n"
            "    6 |        {name: small, replicas: 1, memory: 1Gi, threads: 1}]\n"
            "      |               ^^^^^");
  EXPECT_EQ(SizeErrorOf("sharing:\n"
                        "  mps:\n"
                        "    resources:\n"
                        "    - name: gpu\n"
                        "      shares: [" +
                        small +
                        "]\n"
                        "  timeSlicing:\n"
                        "    resources:\n"
                        "    - {name: mig-1g.5gb, replicas: 2, rename: gpu.small}\n"),
            "c.yaml:5:23: \"nvidia.com/gpu.small\" is another resource\n"
            "    5 |       shares: [" +
                small +
                "]\n"
                "      |                       ^^^^^ that of line 8: choose another name");
  // The same size of other GPUs is the same resource, as long as it is the same size.
  const auto two = [](const std::string& second) {
    return SizeErrorOf(
        ByMps("    - {name: gpu, devices: [0], shares: [{name: a, replicas: 1, memory: 1Gi, "
              "threads: 2}]}\n"
              "    - {name: gpu, devices: [1], shares: [" +
              second + "]}\n"));
  };
  EXPECT_EQ(two("{name: a, replicas: 3, memory: 1024Mi, threads: 2}"), "");
  EXPECT_EQ(two("{name: a, replicas: 1, memory: 2Gi, threads: 2}"),
            "c.yaml:5:49: \"nvidia.com/gpu.a\" has other limits than in line 4\n"
            "    5 |     - {name: gpu, devices: [1], shares: [{name: a, replicas: 1, memory: 2Gi, "
            "threads: 2}]}\n"
            "      |                                                 ^ a name means one size: give "
            "it the same memory and threads, or another name");
  EXPECT_NE(two("{name: a, replicas: 1, memory: 1Gi, threads: 3}"), "");
  // Profiles of MIG end in words of their own.
  const auto mig = [](const std::string& name) {
    return SizeErrorOf(ByMps("    - {name: mig-1g.5gb, shares: [{name: " + name +
                             ", replicas: 1, memory: 1Gi, threads: 1}]}\n"));
  };
  EXPECT_EQ(mig("small"), "");
  EXPECT_NE(mig("me"), "");
  EXPECT_NE(mig("gfx"), "");
}

}  // namespace
}  // namespace partita::config
