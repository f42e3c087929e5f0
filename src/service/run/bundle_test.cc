#include "service/run/bundle.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"

namespace partita::service::run {
namespace {

using base::Value;

partita::cdi::DeviceNode CharacterNode(const std::string& path, std::int64_t minor) {
  partita::cdi::DeviceNode node;
  node.path = path;
  node.major = 195;
  node.minor = minor;
  node.type = "c";
  node.permissions = "rwm";
  return node;
}

partita::cdi::NodeDevices TwoDevices() {
  partita::cdi::NodeDevices node;
  node.spec.edits.device_nodes = {CharacterNode("/dev/nvidiactl", 255)};
  node.spec.edits.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  for (const int index : {0, 1}) {
    partita::cdi::Device device;
    device.name = fmt::to_string(index);
    device.edits.device_nodes = {CharacterNode(fmt::format("/dev/nvidia{}", index), index)};
    node.spec.devices.push_back(device);
  }
  return node;
}

Value Made(const ContainerOrder& order, const Grant& grant) {
  const base::Result<std::string> text = MakeConfig(
      order, grant, TwoDevices(), {}, [](const std::string&) -> base::Result<base::FileFacts> {
        return base::FileFacts{.mode = S_IFCHR | 0666};
      });
  EXPECT_TRUE(text.ok()) << text.error().ToString();
  return *base::ParseJson(*text);
}

const Value& At(const Value& value, std::string_view path) {
  const Value* found = &value;
  for (const std::string_view key : base::Split(path, '.')) {
    found = found->Find(key);
    PARTITA_CHECK(found != nullptr);
  }
  return *found;
}

TEST(CheckWords, NamesTheOneThatJsonWouldChange) {
  EXPECT_TRUE(CheckWords({"echo", "gr\xc3\xbc\xc3\x9f", "", "\n\x01"}).ok());
  const base::Error error = CheckWords({"cat", "a", "b\xff"}).error();
  EXPECT_EQ(error.ToString(), "argument 2 of the command is not UTF-8: " + base::Quoted("b\xff"));
  EXPECT_EQ(error.code(), base::ErrorCode::kInvalid);
  EXPECT_EQ(CheckWords({"\xc3", "a"}).error().ToString(),
            "the name of the command is not UTF-8: " + base::Quoted("\xc3"));
}

ContainerOrder Order() {
  return {.root = "/r",
          .command = {"a", "b"},
          .terminal = true,
          .term = "vt",
          .host_files = {"/etc/hosts"}};
}

TEST(Bundle, HasTheGrantedDevicesAndTheControlNodes) {
  Grant grant;
  grant.devices = {"1"};
  const std::string devices = base::ToJson(At(Made(Order(), grant), "linux.devices"));
  EXPECT_NE(devices.find("/dev/nvidia1"), std::string::npos) << devices;
  EXPECT_NE(devices.find("/dev/nvidiactl"), std::string::npos) << devices;
  EXPECT_EQ(devices.find("/dev/nvidia0"), std::string::npos) << devices;
  EXPECT_EQ(base::ToJson(At(Made(Order(), {}), "linux.devices")).find("/dev/nvidia1"),
            std::string::npos);
}

TEST(Bundle, RunsTheCommandWithFewRights) {
  const Value config = Made(Order(), {});
  EXPECT_EQ(base::ToJsonLine(At(config, "process.args")), "[\"a\",\"b\"]");
  EXPECT_EQ(base::ToJsonLine(At(config, "process.terminal")), "true");
  EXPECT_EQ(base::ToJsonLine(At(config, "root.path")), "\"/r\"");
  const std::string env = base::ToJsonLine(At(config, "process.env"));
  EXPECT_NE(env.find("\"TERM=vt\""), std::string::npos) << env;
  EXPECT_NE(env.find("\"NVIDIA_VISIBLE_DEVICES=void\""), std::string::npos) << env;
  const std::string capabilities = base::ToJsonLine(At(config, "process.capabilities"));
  for (const char* right : {"MKNOD", "SYS_ADMIN", "NET_ADMIN", "SYS_RAWIO"})
    EXPECT_EQ(capabilities.find(right), std::string::npos) << right;
  EXPECT_NE(base::ToJsonLine(At(config, "linux.resources.devices"))
                .find("{\"allow\":false,\"access\":\"rwm\"}"),
            std::string::npos);
}

// A runtime gives a hook without one the environment that the image chose.
TEST(Bundle, RestrictsProcByAHookWithAnEnvironment) {
  EXPECT_EQ(base::ToJsonLine(At(Made(Order(), {}), "hooks.createContainer")),
            "[{\"path\":\"/usr/bin/partita-hook\",\"args\":[\"nvidia-cdi-hook\",\"restrict-proc\"],"
            "\"env\":[\"NVIDIA_CTK_DEBUG=false\"]}]");
}

}  // namespace
}  // namespace partita::service::run
