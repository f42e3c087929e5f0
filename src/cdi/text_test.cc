#include "cdi/text.h"

#include <gtest/gtest.h>

#include "cdi/testing/f1.h"
#include "tests/golden/golden.h"

namespace partita::cdi {
namespace {

// Every key that there is.
Spec Everything() {
  Spec spec = testing::F1();
  spec.version = "1.1.0";
  spec.annotations = {{"a.b/c", "1"}, {"d", "two words"}};
  spec.devices[0].annotations = {{"x", ""}};
  spec.devices[0].edits.device_nodes[0] = {.path = "/dev/x",
                                           .host_path = "/run/dev/x",
                                           .type = "c",
                                           .major = 195,
                                           .minor = 3,
                                           .file_mode = 0660,
                                           .permissions = "none",
                                           .uid = 0,
                                           .gid = 44};
  spec.edits.net_devices = {{"eth0", "net1"}};
  spec.edits.hooks[0].timeout = 5;
  spec.edits.mounts[0].type = "bind";
  spec.edits.intel_rdt = IntelRdt{"clos", "L3:0=f", "MB:0=10", {"L3:0=f", "MB:0=20"}, true};
  spec.edits.additional_gids = {44, 109};
  return spec;
}

TEST(CdiText, RendersF1ByteForByte) { golden::ExpectGolden("cdi/f1.yaml", ToYaml(testing::F1())); }

TEST(CdiText, JsonIsOneLineInTheSameOrder) {
  Spec spec = testing::F1();
  spec.edits = {};
  EXPECT_EQ(ToJson(spec),
            R"({"cdiVersion":"0.5.0","kind":"nvidia.com/gpu","devices":[{"name":"0",)"
            R"("containerEdits":{"deviceNodes":[{"path":"/dev/nvidia0","major":195,)"
            R"("fileMode":438,"permissions":"rwm"}]}},{"name":"all","containerEdits":)"
            R"({"deviceNodes":[{"path":"/dev/nvidia0","major":195,"fileMode":438,)"
            R"("permissions":"rwm"}]}}]})");
}

TEST(CdiText, OmitsZeros) {
  Spec spec;
  spec.version = "0.3.0";
  spec.kind = "a/b";
  spec.devices = {{"x", {}, {}}};
  spec.devices[0].edits.device_nodes = {{.path = "/dev/x", .uid = 0}};
  EXPECT_EQ(ToYaml(spec), R"(---
cdiVersion: 0.3.0
kind: a/b
devices:
    - name: x
      containerEdits:
        deviceNodes:
            - path: /dev/x
              uid: 0
)");
}

TEST(CdiText, ReadsWhatItWrote) {
  for (const Spec& spec : {testing::F1(), Everything()}) {
    const auto yaml = Parse(ToYaml(spec), "x.yaml");
    ASSERT_TRUE(yaml.ok()) << yaml.error().ToString();
    EXPECT_EQ(*yaml, spec);
    const auto json = Parse(ToJson(spec), "x.json");
    ASSERT_TRUE(json.ok()) << json.error().ToString();
    EXPECT_EQ(*json, spec);
  }
}

TEST(CdiText, ReadsJsonWithTabs) {
  const auto spec = Parse(
      "{\n\t\"cdiVersion\": \"0.5.0\",\n\t\"kind\":\t\"a/b\",\n\t\"devices\": [{\"name\": "
      "\"x\\ty\"}]"
      "\n}\n",
      "x.json");
  ASSERT_TRUE(spec.ok()) << spec.error().ToString();
  EXPECT_EQ(spec->devices.at(0).name, "x\ty");
}

TEST(CdiText, ReadsNumbersAsGoDoes) {
  const auto spec = Parse(
      "cdiVersion: 0.5.0\nkind: a/b\n"
      "devices: [{name: 0, containerEdits: {deviceNodes: [{path: /x, major: 0xc3, minor: 1_0, "
      "fileMode: 0666}]}}]\n",
      "x.yaml");
  ASSERT_TRUE(spec.ok()) << spec.error().ToString();
  const DeviceNode& node = spec->devices.at(0).edits.device_nodes.at(0);
  EXPECT_EQ(spec->devices[0].name, "0");
  EXPECT_EQ(node.major, 195);
  EXPECT_EQ(node.minor, 10);
  EXPECT_EQ(node.file_mode, 0666u);
}

TEST(CdiText, TakesAKeyWithoutValueAsAbsent) {
  const auto spec =
      Parse("cdiVersion: 0.5.0\nkind: a/b\ndevices: []\ncontainerEdits:\n  hooks:\n", "x.yaml");
  ASSERT_TRUE(spec.ok()) << spec.error().ToString();
  EXPECT_TRUE(spec->edits.empty());
}

TEST(CdiText, NamesEveryProblemWithItsPlace) {
  const auto spec = Parse(R"(cdiVersion: 0.5.0
devices:
  - name: a
    fooBar: 1
    containerEdits:
      deviceNodes:
        - path: /dev/x
          major: "195"
          gid: -1
      env: A=1
)",
                          "x.yaml");
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.error().code(), base::ErrorCode::kInvalid);
  EXPECT_EQ(spec.error().message(), R"(x.yaml:1:1: missing key "kind"
    1 | cdiVersion: 0.5.0
      | ^
x.yaml:4:5: unknown key "fooBar"
    4 |     fooBar: 1
      |     ^^^^^^ known here: name, annotations, containerEdits
x.yaml:8:18: expected a whole number, not "195"
    8 |           major: "195"
      |                  ^^^^^ write it without quotes
x.yaml:9:16: expected a number from 0 to 4294967295, not "-1"
    9 |           gid: -1
      |                ^^
x.yaml:10:12: expected a list of texts, not "A=1"
   10 |       env: A=1
      |            ^^^ write it as "- item" lines or [a, b])");
}

TEST(CdiText, KeysHaveTheirCase) {
  EXPECT_FALSE(Parse("cdiversion: 0.5.0\nkind: a/b\ndevices: []\n", "x.yaml").ok());
  EXPECT_FALSE(Parse(R"({"cdiVersion":"0.5.0","Kind":"a/b","devices":[]})", "x.json").ok());
}

TEST(CdiText, RefusesWhatIsNoSpecification) {
  for (const char* text : {"", "[]", "x", "{", "a: b: c", "\x01", "{\"a\":1,\"a\":2}",
                           "cdiVersion: 0.5.0\nkind: a/b\nkind: a/b\n"}) {
    const auto spec = Parse(text, "x.yaml");
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_TRUE(spec.error().message().starts_with("x.yaml:")) << spec.error().message();
  }
}

}  // namespace
}  // namespace partita::cdi
