#include "config/mig_config.h"

#include <gtest/gtest.h>

namespace partita::config {
namespace {

constexpr const char* kHead = "version: v1\nmig-configs:\n  x:\n";

base::Result<MigConfigFile> ParseMig(std::string text) {
  return MigConfigFile::Parse(std::move(text), "mig.yaml");
}

std::string MigConfigProblems(std::string text) {
  const base::Result<MigConfigFile> file = ParseMig(std::move(text));
  return file.ok() ? "" : file.error().message();
}

// The first entry of configuration "x", or a failure.
MigSpec SpecOf(const std::string& entry) {
  const base::Result<MigConfigFile> file = ParseMig(kHead + entry);
  EXPECT_TRUE(file.ok()) << file.error().message();
  return file.ok() ? file->configs().front().specs.front() : MigSpec{};
}

std::vector<std::pair<std::string, std::uint32_t>> CountsOf(const MigSpec& spec) {
  std::vector<std::pair<std::string, std::uint32_t>> devices;
  for (const MigDeviceCount& device : spec.mig_devices)
    devices.emplace_back(device.profile, device.count);
  return devices;
}

TEST(MigConfig, ReadsAllFields) {
  const auto file = ParseMig(
      "version: v1\n"
      "mig-configs:\n"
      "  all-disabled:\n"
      "    - devices: all\n"
      "      mig-enabled: false\n"
      "  mixed:\n"
      "    - device-filter: [\"0x20B010DE\", \"0x233010DE:0x16C010DE\"]\n"
      "      devices: [0, 3]\n"
      "      mig-enabled: true\n"
      "      mig-devices:\n"
      "        \"1g.5gb\": 2\n"
      "        3g.20gb: 0\n"
      "    - devices: [1]\n"
      "      mig-enabled: true\n"
      "      mig-devices: {}\n");
  ASSERT_TRUE(file.ok()) << file.error().message();
  ASSERT_EQ(file->configs().size(), 2U);
  EXPECT_EQ(file->configs()[0].name, "all-disabled");
  EXPECT_TRUE(file->configs()[0].specs[0].all_devices);
  EXPECT_FALSE(file->configs()[0].specs[0].mig_enabled);

  const MigSpec& spec = file->configs()[1].specs[0];
  EXPECT_EQ(spec.filters,
            (std::vector<DeviceFilter>{{0x20B010DE, std::nullopt}, {0x233010DE, 0x16C010DE}}));
  ASSERT_EQ(spec.devices.size(), 2U);
  EXPECT_EQ(spec.devices[1].ToString(), "GPU 3");
  EXPECT_TRUE(spec.mig_enabled);
  EXPECT_EQ(CountsOf(spec),
            (std::vector<std::pair<std::string, std::uint32_t>>{{"1g.5gb", 2}, {"3g.20gb", 0}}));
  EXPECT_EQ(spec.place.line, 7);
  EXPECT_EQ(spec.mig_devices[1].place.line, 12);
  EXPECT_TRUE(file->configs()[1].specs[1].mig_devices.empty());
}

TEST(MigConfig, ReadsJson) {
  const auto file = ParseMig(
      R"({"version":"v1","mig-configs":{"x":[{"devices":"all","mig-enabled":true,"mig-devices":{"1g.5gb":7}}]}})");
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(file->configs()[0].specs[0].mig_devices[0].count, 7U);
}

TEST(MigConfig, AcceptsFilesWithoutConfigurations) {
  for (const char* text : {"", "version: v1\n", "# nothing\n"}) {
    const auto file = ParseMig(text);
    ASSERT_TRUE(file.ok()) << text;
    EXPECT_TRUE(file->configs().empty()) << text;
  }
}

TEST(MigConfig, ReadsEverySpellingOfAProfile) {
  const MigSpec spec = SpecOf(
      "    - devices: all\n"
      "      mig-enabled: true\n"
      "      mig-devices: {1c.3g.20gb: 1, 1g.5gb+me: 1, 1g.24gb-me: 1, 1g: 1, 1g*2: 1,\n"
      "                    id:19: 1, id:9/1c: 1, 3_SLICE: 1}\n");
  EXPECT_EQ(spec.mig_devices.size(), 8U);
}

TEST(MigConfig, SelectsGpusInEveryWay) {
  const MigSpec spec = SpecOf(
      "    - devices: [0, GPU-75dc73da-0000-0000-0000-000000000000, \"0000:07:00.0\", 0f:00.0,\n"
      "                H200]\n"
      "      mig-enabled: false\n");
  ASSERT_EQ(spec.devices.size(), 5U);
  model::Gpu gpu;
  gpu.index = model::GpuIndex(7);
  EXPECT_FALSE(spec.Selects(gpu));
  gpu.name = "NVIDIA H200";
  EXPECT_TRUE(spec.Selects(gpu));
  gpu.name = "NVIDIA H200 NVL";
  EXPECT_FALSE(spec.Selects(gpu));
  gpu.pci = {0, 0x0F, 0, 0};
  EXPECT_TRUE(spec.Selects(gpu));
}

TEST(MigConfig, FiltersByDeviceAndSubsystem) {
  model::Gpu gpu;
  gpu.pci_device_id = 0x233010DE;
  gpu.pci_subsystem_id = 0x16C110DE;
  const auto selects = [&](const std::string& filter) {
    return SpecOf("    - {device-filter: " + filter + ", devices: all, mig-enabled: false}\n")
        .Selects(gpu);
  };
  EXPECT_TRUE(selects("\"0x233010DE\""));
  EXPECT_TRUE(selects("\"0x233010de\""));
  EXPECT_TRUE(selects("\"0x233010DE:0x16C110DE\""));
  EXPECT_FALSE(selects("\"0x233010DE:0x16C010DE\""));
  EXPECT_FALSE(selects("\"0x233010DE:0x00000000\""));
  EXPECT_FALSE(selects("\"0x20B010DE\""));
  EXPECT_TRUE(selects("[\"0x20B010DE\", \"0x233010DE\"]"));
  EXPECT_TRUE(selects("[]"));
  EXPECT_TRUE(selects(""));
  gpu.pci_subsystem_id = 0;
  EXPECT_TRUE(selects("\"0x233010DE:0x00000000\""));
}

TEST(MigConfig, RefusesWhatItDoesNotUnderstand) {
  struct Case {
    const char* name;
    std::string text;
    const char* problems;
  };
  const std::string head = kHead;
  const std::vector<Case> cases = {
      {"no version", "mig-configs: {x: [{devices: all, mig-enabled: false}]}\n",
       "mig.yaml:1:1: missing key \"version\"\n"
       "    1 | mig-configs: {x: [{devices: all, mig-enabled: false}]}\n"
       "      | ^"},
      {"another version", "version: v2\n",
       "mig.yaml:1:10: unknown version \"v2\"\n"
       "    1 | version: v2\n"
       "      |          ^^ only v1 exists"},
      {"an unknown key", "version: v1\nmig-config: {}\n",
       "mig.yaml:2:1: unknown key \"mig-config\"\n"
       "    2 | mig-config: {}\n"
       "      | ^^^^^^^^^^ did you mean \"mig-configs\"?"},
      {"no configuration", "version: v1\nmig-configs: {}\n",
       "mig.yaml:2:14: \"mig-configs\" is empty\n"
       "    2 | mig-configs: {}\n"
       "      |              ^ it needs at least one configuration"},
      {"an empty configuration", "version: v1\nmig-configs: {x: []}\n",
       "mig.yaml:2:15: configuration \"x\" is empty\n"
       "    2 | mig-configs: {x: []}\n"
       "      |               ^ it needs at least one entry"},
      {"an unknown field", head + "    - {devices: all, mig-enable: true}\n",
       "mig.yaml:4:7: missing key \"mig-enabled\"\n"
       "    4 |     - {devices: all, mig-enable: true}\n"
       "      |       ^\n"
       "mig.yaml:4:22: unknown key \"mig-enable\"\n"
       "    4 |     - {devices: all, mig-enable: true}\n"
       "      |                      ^^^^^^^^^^ did you mean \"mig-enabled\"?"},
      {"devices are a word", head + "    - {devices: bogus, mig-enabled: false}\n",
       "mig.yaml:4:17: \"devices\" is \"bogus\"\n"
       "    4 |     - {devices: bogus, mig-enabled: false}\n"
       "      |                 ^^^^^ \"all\", or a list of indexes, UUIDs, PCI addresses or "
       "product names"},
      {"a MIG device among the GPUs", head + "    - {devices: [MIG-1], mig-enabled: false}\n",
       "mig.yaml:4:18: \"MIG-1\" is a MIG device, not a GPU\n"
       "    4 |     - {devices: [MIG-1], mig-enabled: false}\n"
       "      |                  ^^^^^ select its GPU by index, UUID or PCI address"},
      {"no devices", head + "    - {devices: all, mig-enabled: true}\n",
       "mig.yaml:4:35: \"mig-enabled\" is true, but \"mig-devices\" is missing\n"
       "    4 |     - {devices: all, mig-enabled: true}\n"
       "      |                                   ^^^^ add \"mig-devices: {}\" for MIG on without "
       "devices"},
      {"devices without MIG",
       head + "    - {devices: all, mig-enabled: false, mig-devices: {1g.5gb: 1}}\n",
       "mig.yaml:4:42: MIG devices are listed although \"mig-enabled\" is false\n"
       "    4 |     - {devices: all, mig-enabled: false, mig-devices: {1g.5gb: 1}}\n"
       "      |                                          ^^^^^^^^^^^ set \"mig-enabled: true\", or "
       "write {}"},
      {"a bad name", head + "    - {devices: all, mig-enabled: true, mig-devices: {1g5gb: 1}}\n",
       "mig.yaml:4:55: \"1g5gb\" is no MIG profile\n"
       "    4 |     - {devices: all, mig-enabled: true, mig-devices: {1g5gb: 1}}\n"
       "      |                                                       ^^^^^ write it like 1g.5gb, "
       "1c.3g.20gb, 1g.10gb+me, 1g, id:19 or 1_SLICE_REV1"},
      {"a negative count",
       head + "    - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: -1}}\n",
       "mig.yaml:4:63: expected a number from 0 to 4294967295, not \"-1\"\n"
       "    4 |     - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: -1}}\n"
       "      |                                                               ^^"},
      {"no count", head + "    - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: 0}}\n",
       "mig.yaml:4:54: every count in \"mig-devices\" is 0\n"
       "    4 |     - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: 0}}\n"
       "      |                                                      ^ write {} for MIG on without "
       "devices"},
      {"a malformed filter",
       head + "    - {device-filter: \"0x20B0\", devices: all, mig-enabled: false}\n",
       "mig.yaml:4:23: \"0x20B0\" is no device filter\n"
       "    4 |     - {device-filter: \"0x20B0\", devices: all, mig-enabled: false}\n"
       "      |                       ^^^^^^^^ device and vendor in hex, as 0x20B010DE, or with "
       "the subsystem 0x20B010DE:0x134F10DE"},
      {"a mode that is neither",
       head + "    - {devices: all, mig-enabled: maybe, mig-devices: {1g.5gb: 1}}\n",
       "mig.yaml:4:35: expected true or false, not \"maybe\"\n"
       "    4 |     - {devices: all, mig-enabled: maybe, mig-devices: {1g.5gb: 1}}\n"
       "      |                                   ^^^^^"},
      {"an entry that is no map", head + "    - all\n",
       "mig.yaml:4:7: expected an entry of a configuration, not \"all\"\n"
       "    4 |     - all\n"
       "      |       ^^^ write it as \"key: value\" lines"},
      {"a configuration that is no list", head + "    devices: all\n",
       "mig.yaml:4:5: expected the entries of \"x\", not a map\n"
       "    4 |     devices: all\n"
       "      |     ^ write it as \"- item\" lines or [a, b]"},
      {"a list for a file", "- version: v1\n",
       "mig.yaml:1:1: expected the configuration file, not a list\n"
       "    1 | - version: v1\n"
       "      | ^ write it as \"key: value\" lines"},
  };
  for (const Case& c : cases) EXPECT_EQ(MigConfigProblems(c.text), c.problems) << c.name;
}

TEST(MigConfig, RefusesControlCharactersInNames) {
  EXPECT_EQ(
      MigConfigProblems(
          "version: v1\nmig-configs:\n  \"a\\nb\": [{devices: all, mig-enabled: false}]\n"),
      "mig.yaml:3:3: the name \"a\\nb\" holds a control character\n"
      "    3 |   \"a\\nb\": [{devices: all, mig-enabled: false}]\n"
      "      |   ^^^^^^ it stands in unit files and logs: use letters, digits, \".\", \"-\" and "
      "\"_\"");
}

TEST(MigConfig, ReportsAllProblemsAtOnce) {
  EXPECT_EQ(MigConfigProblems("version: v1\n"
                              "mig-configs:\n"
                              "  x:\n"
                              "    - devices: [0]\n"
                              "      mig-enabled: true\n"
                              "    - mig-enabled: true\n"
                              "      mig-devices: {1g.5bg: 7}\n"),
            "mig.yaml:5:20: \"mig-enabled\" is true, but \"mig-devices\" is missing\n"
            "    5 |       mig-enabled: true\n"
            "      |                    ^^^^ add \"mig-devices: {}\" for MIG on without devices\n"
            "mig.yaml:6:7: missing key \"devices\"\n"
            "    6 |     - mig-enabled: true\n"
            "      |       ^\n"
            "mig.yaml:7:21: \"1g.5bg\" is no MIG profile\n"
            "    7 |       mig-devices: {1g.5bg: 7}\n"
            "      |                     ^^^^^^ write it like 1g.5gb, 1c.3g.20gb, 1g.10gb+me, 1g, "
            "id:19 or 1_SLICE_REV1");
}

TEST(MigConfig, SelectsAConfigurationByName) {
  const auto file = ParseMig(
      "version: v1\n"
      "mig-configs:\n"
      "  all-disabled: [{devices: all, mig-enabled: false}]\n"
      "  all-enabled: [{devices: all, mig-enabled: true, mig-devices: {}}]\n");
  ASSERT_TRUE(file.ok()) << file.error().message();
  const auto chosen = file->Select("all-enabled");
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ((*chosen)->name, "all-enabled");

  const auto wrong = file->Select("all-enable");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message(), "mig.yaml has no configuration \"all-enable\"");
  EXPECT_EQ(wrong.error().hint(), "did you mean \"all-enabled\"?");

  const auto foreign = file->Select("something-else");
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().hint(), "there are: all-disabled or all-enabled");

  const auto open = file->Select("");
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().message(), "mig.yaml holds 2 configurations, and none is selected");
  EXPECT_EQ(open.error().hint(), "choose one: all-disabled or all-enabled");
}

TEST(MigConfig, TakesTheOnlyConfiguration) {
  const auto file =
      ParseMig("version: v1\nmig-configs: {x: [{devices: all, mig-enabled: false}]}\n");
  ASSERT_TRUE(file.ok());
  const auto only = file->Select("");
  ASSERT_TRUE(only.ok());
  EXPECT_EQ((*only)->name, "x");

  const auto empty = ParseMig("version: v1\n");
  ASSERT_TRUE(empty.ok());
  const auto none = empty->Select("");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message(), "mig.yaml holds no configuration");
}

TEST(MigConfig, SaysWhichFileCannotBeRead) {
  const auto file = MigConfigFile::Load("/nonexistent/mig.yaml");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().ToString().find("/nonexistent/mig.yaml"), std::string::npos);
}

}  // namespace
}  // namespace partita::config
