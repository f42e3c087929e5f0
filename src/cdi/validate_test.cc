#include "cdi/validate.h"

#include <functional>

#include <gtest/gtest.h>

#include "cdi/testing/f1.h"

namespace partita::cdi {
namespace {

struct ValidateCase {
  const char* name;
  std::function<void(Spec&)> spoil;
  std::string message;
};

void ExpectRefused(const ValidateCase& each, base::Result<void> (*check)(const Spec&)) {
  Spec spec = testing::F1();
  each.spoil(spec);
  const base::Result<void> result = check(spec);
  ASSERT_FALSE(result.ok()) << each.name;
  EXPECT_EQ(result.error().code(), base::ErrorCode::kInvalid);
  EXPECT_EQ(result.error().message(), each.message) << each.name;
}

TEST(CdiCheck, TakesWhatIsRight) {
  EXPECT_TRUE(Check(testing::F1()).ok());
  EXPECT_TRUE(CheckToWrite(testing::F1()).ok());
  Spec higher = testing::F1();
  higher.version = "v1.0.0";
  EXPECT_TRUE(Check(higher).ok());
  Spec none = testing::F1();
  none.devices[0].edits.device_nodes[0].permissions = "none";
  EXPECT_TRUE(Check(none).ok());
}

TEST(CdiCheck, RefusesWhatEveryReaderRefuses) {
  const ValidateCase cases[] = {
      {"too low",
       [](Spec& spec) {
         spec.version = "0.6.0";
         spec.edits.additional_gids = {44};
       },
       "cdiVersion 0.6.0 is too low: additionalGids needs at least 0.7.0"},
      {"unknown version", [](Spec& spec) { spec.version = "1.2.0"; },
       "CDI version \"1.2.0\" is not known; the newest known is 1.1.0"},
      {"no class", [](Spec& spec) { spec.kind = "nvidia.com"; },
       "kind \"nvidia.com\" is not vendor/class"},
      {"bad vendor", [](Spec& spec) { spec.kind = "-x/gpu"; },
       "kind \"-x/gpu\": the vendor is malformed"},
      {"bad class", [](Spec& spec) { spec.kind = "x/gpu/y"; },
       "kind \"x/gpu/y\": the class is malformed"},
      {"no devices", [](Spec& spec) { spec.devices.clear(); }, "there is no device in it"},
      {"bad name", [](Spec& spec) { spec.devices[0].name = "a/b"; },
       "device \"a/b\": the name is malformed"},
      {"twins", [](Spec& spec) { spec.devices[1].name = "0"; }, "device \"0\": it is there twice"},
      {"empty device", [](Spec& spec) { spec.devices[0].edits = {}; },
       "device \"0\": it has no edits"},
      {"env", [](Spec& spec) { spec.edits.env.emplace_back("=x"); },
       "common edits: env \"=x\" is not NAME=VALUE"},
      {"env with NUL", [](Spec& spec) { spec.edits.env.emplace_back("A=x\0y", 5); },
       "common edits: env \"A=x\\x00y\" has a NUL byte in it"},
      {"no path", [](Spec& spec) { spec.devices[0].edits.device_nodes[0].path = ""; },
       "device \"0\": the path of a device node is empty"},
      {"type", [](Spec& spec) { spec.devices[0].edits.device_nodes[0].type = "bc"; },
       "device \"0\": device node /dev/nvidia0: type \"bc\" is not b, c, u or p"},
      {"permissions", [](Spec& spec) { spec.devices[0].edits.device_nodes[0].permissions = "x"; },
       "device \"0\": device node /dev/nvidia0: permissions \"x\" are not of r, w and m, nor "
       "\"none\""},
      {"hook's name", [](Spec& spec) { spec.edits.hooks[0].hook_name = "prestop"; },
       "common edits: no hook is called \"prestop\""},
      {"hook's path", [](Spec& spec) { spec.edits.hooks[0].path = ""; },
       "common edits: a createContainer hook's path is empty"},
      {"hook's env", [](Spec& spec) { spec.edits.hooks[0].env = {"x"}; },
       "common edits: a createContainer hook's environment \"x\" is not NAME=VALUE"},
      {"mount's host path", [](Spec& spec) { spec.edits.mounts[0].host_path = ""; },
       "common edits: the hostPath of a mount is empty"},
      {"mount's path", [](Spec& spec) { spec.edits.mounts[0].container_path = ""; },
       "common edits: the containerPath of a mount is empty"},
  };
  for (const ValidateCase& each : cases) ExpectRefused(each, Check);
}

TEST(CdiCheck, RefusesBadNetDevicesAndClasses) {
  const auto newest = [](const std::function<void(ContainerEdits&)>& spoil) {
    return [spoil](Spec& spec) {
      spec.version = "1.1.0";
      spoil(spec.edits);
    };
  };
  const ValidateCase cases[] = {
      {"no name", newest([](ContainerEdits& edits) {
         edits.net_devices = {{"eth0", ""}};
       }),
       "common edits: the name of a net device is empty"},
      {"twins on the host", newest([](ContainerEdits& edits) {
         edits.net_devices = {{"eth0", "a"}, {"eth0", "b"}};
       }),
       "common edits: net device \"eth0\" is there twice"},
      {"twins inside", newest([](ContainerEdits& edits) {
         edits.net_devices = {{"eth0", "a"}, {"eth1", "a"}};
       }),
       "common edits: two net devices are named \"a\""},
      {"closID", newest([](ContainerEdits& edits) {
         edits.intel_rdt = IntelRdt{"a/b", "", "", {}, false};
       }),
       "common edits: closID \"a/b\" is no name of a directory"},
      {"closID ..", newest([](ContainerEdits& edits) {
         edits.intel_rdt = IntelRdt{"..", "", "", {}, false};
       }),
       "common edits: closID \"..\" is no name of a directory"},
  };
  for (const ValidateCase& each : cases) ExpectRefused(each, Check);
  Spec root = testing::F1();
  root.version = "0.7.0";
  root.edits.intel_rdt = IntelRdt{"/", "", "", {}, false};
  EXPECT_TRUE(Check(root).ok());
}

TEST(CdiCheck, AHookOfOursHasAnEnvironment) {
  Spec spec = testing::F1();
  spec.edits.hooks[1].env.clear();
  EXPECT_TRUE(Check(spec).ok());
  const ValidateCase cases[] = {
      {"no env", [](Spec& each) { each.edits.hooks[1].env.clear(); },
       "common edits: the createContainer hook /usr/bin/nvidia-cdi-hook has no env"},
      {"relative", [](Spec& each) { each.edits.hooks[1].path = "nvidia-cdi-hook"; },
       "common edits: a createContainer hook's path \"nvidia-cdi-hook\" is not absolute"},
      {"timeout", [](Spec& each) { each.edits.hooks[1].timeout = 0; },
       "common edits: a createContainer hook's timeout is not positive"},
      {"annotation",
       [](Spec& each) {
         each.version = "0.6.0";
         each.annotations = {{"a_b/c", ""}};
       },
       "annotation \"a_b/c\" is no name that Kubernetes knows"},
      {"much annotation",
       [](Spec& each) {
         each.version = "0.6.0";
         each.devices[0].annotations = {{"a.b/c", std::string(262144, 'x')}};
       },
       "device \"0\": annotations have 262149 bytes; 262144 are the most"},
  };
  for (const ValidateCase& each : cases) ExpectRefused(each, CheckToWrite);
}

TEST(CdiCheck, NamesAllProblems) {
  Spec spec = testing::F1();
  spec.kind = "x";
  spec.devices[0].edits = {};
  spec.devices[1].name = "-";
  EXPECT_EQ(Check(spec).error().message(),
            "3 problems:\n"
            "  kind \"x\" is not vendor/class\n"
            "  device \"0\": it has no edits\n"
            "  device \"-\": the name is malformed");
  spec.edits.env.assign(30, "x");
  EXPECT_TRUE(Check(spec).error().message().ends_with("\n  and 13 more"));
}

}  // namespace
}  // namespace partita::cdi
