#include "cdi/node_devices.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace partita::cdi {
namespace {

using base::Value;

NodeDevices Sample() {
  NodeDevices node;
  node.generation = 7;
  node.driver_version = "550.90.07";
  node.cuda = "12.4";
  node.driver_root = node.dev_root = "/run/nvidia/driver";
  node.caps_major = 241;
  DeviceRow gpu;
  gpu.minor = 3;
  gpu.uuid = "GPU-1";
  gpu.pci = "0000:3b:00.0";
  gpu.brand = "nvidia";
  gpu.compute = "9.0";
  gpu.mig_enabled = true;
  DeviceRow slice = gpu;
  slice.mig = {.slot = 3, .gi = 5, .ci = 0, .gi_cap = 48, .ci_cap = 49, .uuid = "MIG-1"};
  slice.cdi_name = "0:3";
  node.rows = {gpu, slice};
  node.files = {{.host_path = "/run/nvidia/driver/usr/lib64/libcuda.so.550.90.07",
                 .container_path = "/usr/lib64/libcuda.so.550.90.07",
                 .kind = FileKind::kLibrary,
                 .of = {Capability::kCompute, Capability::kVideo},
                 .soname = "libcuda.so.1",
                 .elf32 = true},
                {.host_path = "/tmp/nvidia-mps",
                 .container_path = "/tmp/nvidia-mps",
                 .kind = FileKind::kSocket,
                 .of = {},
                 .soname = "",
                 .elf32 = false}};
  DeviceNode control;
  control.path = "/dev/nvidiactl";
  control.host_path = "/run/nvidia/driver/dev/nvidiactl";
  control.major = 195;
  control.minor = 255;
  control.file_mode = 0660;
  control.permissions = "rwm";
  control.gid = 44;
  node.control_nodes = {control};
  node.spec.version = "0.5.0";
  node.spec.kind = "runtime.nvidia.com/gpu";
  Device device;
  device.name = "0:3";
  device.edits.env = {"A=b"};
  node.spec.devices = {device};
  return node;
}

TEST(NodeDevices, ComesBackAsItWasThroughJson) {
  const NodeDevices node = Sample();
  const base::Result<Value> read = base::ParseJson(base::ToJson(ToValue(node)));
  ASSERT_TRUE(read.ok());
  const base::Result<NodeDevices> back = NodeDevicesFrom(*read);
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  EXPECT_EQ(*back, node);
}

std::string ProblemWith(const Value& document) {
  const base::Result<NodeDevices> read = NodeDevicesFrom(document);
  return read.ok() ? "" : read.error().ToString();
}

TEST(NodeDevices, SaysWhichMemberIsWrong) {
  EXPECT_EQ(ProblemWith(Value::List()), "apiVersion: it is missing");
  Value newer = ToValue(Sample());
  newer.Set("apiVersion", "partita.dev/devices/v2");
  EXPECT_EQ(ProblemWith(newer),
            "it is a document of \"partita.dev/devices/v2\", not of partita.dev/devices/v1");
  Value text = ToValue(Sample());
  text.Set("generation", "7");
  EXPECT_EQ(ProblemWith(text), "generation: of another type");
  Value row = ToValue(Sample());
  row.Set("devices", Value::List().Add(Value::Map().Set("index", 4294967296U * 2)));
  EXPECT_EQ(ProblemWith(row), "devices[0].index: more than 4294967295");
  Value file = ToValue(Sample());
  file.Set("files", Value::List().Add(Value()));
  EXPECT_EQ(ProblemWith(file), "files[0]: not a map");
  Value no_spec = ToValue(Sample());
  no_spec.Set("spec", Value());
  EXPECT_EQ(ProblemWith(no_spec), "spec: of another type");
}

TEST(NodeDevices, SkipsMembersOfALaterAgent) {
  Value document = ToValue(Sample());
  document.Set("somethingNew", 1);
  EXPECT_EQ(ProblemWith(document), "");
}

TEST(Capability, HasTheWordsOfTheEnvironmentVariable) {
  EXPECT_EQ(ToString(Capability::kCompat32), "compat32");
  EXPECT_EQ(ParseCapability("display"), Capability::kDisplay);
  EXPECT_EQ(ParseCapability("Display"), std::nullopt);
}

}  // namespace
}  // namespace partita::cdi
