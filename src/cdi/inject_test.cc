#include "cdi/inject.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <map>

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"
#include "cdi/testing/f1.h"

namespace partita::cdi {
namespace {

using base::Value;

// A host with F1's nodes, all 0666.
class Host {
 public:
  Host() {
    Put("/dev/nvidia0", S_IFCHR | 0666, 195, 0);
    Put("/dev/nvidiactl", S_IFCHR | 0666, 195, 255);
    Put("/dev/nvidia-uvm", S_IFCHR | 0666, 511, 0);
    Put("/dev/nvidia-uvm-tools", S_IFCHR | 0666, 511, 1);
  }
  void Put(const std::string& path, mode_t mode, unsigned major, unsigned minor) {
    base::FileFacts facts;
    facts.mode = mode;
    facts.device = makedev(major, minor);
    nodes_[path] = facts;
  }
  [[nodiscard]] LookAtHost Look() const {
    return [this](const std::string& path) -> base::Result<base::FileFacts> {
      const auto found = nodes_.find(path);
      if (found == nodes_.end()) return base::ErrnoError("look at " + path, ENOENT);
      return found->second;
    };
  }

 private:
  std::map<std::string, base::FileFacts> nodes_;
};

oci::Spec Container(std::string text) { return *oci::Spec::Parse(std::move(text)); }

std::vector<Registry::Found> All(const Spec& spec) {
  std::vector<Registry::Found> found;
  for (const Device& device : spec.devices) found.push_back({&spec, &device});
  return found;
}

// One device with these edits and nothing in common.
Spec With(const ContainerEdits& edits) {
  Spec spec;
  spec.version = "0.7.0";
  spec.kind = "nvidia.com/gpu";
  spec.devices = {{"x", {}, edits}};
  return spec;
}

// What is at a path in the document, as one line.
std::string At(const oci::Spec& spec, std::initializer_list<const char*> path) {
  const base::Result<Value> document = base::ParseJson(spec.Text());
  EXPECT_TRUE(document.ok());
  const Value* value = &*document;
  for (const char* part : path) {
    value = value->Find(part);
    if (value == nullptr) return "(absent)";
  }
  return base::ToJsonLine(*value);
}

std::string Injected(const ContainerEdits& edits,
                     std::initializer_list<const char*> path,
                     const std::string& container = "{}") {
  const Host host;
  const Spec spec = With(edits);
  oci::Spec target = Container(container);
  const base::Result<void> result = Inject(target, All(spec), Order::kCommonFirst, host.Look());
  return result.ok() ? At(target, path) : result.error().ToString();
}

TEST(Inject, ReplacesAVariableWhereItStands) {
  ContainerEdits edits;
  edits.env = {"NVIDIA_VISIBLE_DEVICES=void", "NEW=1"};
  EXPECT_EQ(Injected(edits, {"process", "env"},
                     R"({"process":{"env":["A=b","NVIDIA_VISIBLE_DEVICES=all","C=d"]}})"),
            R"(["A=b","NVIDIA_VISIBLE_DEVICES=void","C=d","NEW=1"])");
}

TEST(Inject, PutsNodesAndAllowsThem) {
  const Host host;
  const Spec spec = testing::F1();
  oci::Spec target = Container("{}");
  const std::vector<Registry::Found> one = {{&spec, &spec.devices[0]}};
  ASSERT_TRUE(Inject(target, one, Order::kCommonFirst, host.Look()).ok());
  EXPECT_EQ(At(target, {"linux", "devices"}),
            R"([{"path":"/dev/nvidia-uvm","type":"c","major":511,"minor":0,"fileMode":438},)"
            R"({"path":"/dev/nvidia-uvm-tools","type":"c","major":511,"minor":1,"fileMode":438},)"
            R"({"path":"/dev/nvidiactl","type":"c","major":195,"minor":255,"fileMode":438},)"
            R"({"path":"/dev/nvidia0","type":"c","major":195,"minor":0,"fileMode":438}])");
  EXPECT_EQ(At(target, {"linux", "resources", "devices"}),
            R"([{"allow":true,"type":"c","major":511,"minor":0,"access":"rwm"},)"
            R"({"allow":true,"type":"c","major":511,"minor":1,"access":"rwm"},)"
            R"({"allow":true,"type":"c","major":195,"minor":255,"access":"rwm"},)"
            R"({"allow":true,"type":"c","major":195,"minor":0,"access":"rwm"}])");
  EXPECT_EQ(target.hooks("createContainer").size(), 5u);
  EXPECT_EQ(target.mounts().size(), 3u);
}

TEST(Inject, CommonEditsComeOnceAndInTheirOrder) {
  const Host host;
  Spec spec = testing::F1();
  spec.edits = {};
  spec.edits.env = {"COMMON=1"};
  spec.devices[0].edits.env = {"ZERO=1"};
  spec.devices[1].edits.env = {"ALL=1"};
  oci::Spec first = Container("{}"), last = Container("{}");
  ASSERT_TRUE(Inject(first, All(spec), Order::kCommonFirst, host.Look()).ok());
  EXPECT_EQ(At(first, {"process", "env"}), R"(["COMMON=1","ZERO=1","ALL=1"])");
  ASSERT_TRUE(Inject(last, All(spec), Order::kDeviceFirst, host.Look()).ok());
  EXPECT_EQ(At(last, {"process", "env"}), R"(["ZERO=1","ALL=1","COMMON=1"])");
}

TEST(Inject, TakesFromTheHostWhatANodeLacks) {
  ContainerEdits edits;
  edits.device_nodes = {{.path = "/dev/x", .host_path = "/dev/nvidiactl"}};
  EXPECT_EQ(Injected(edits, {"linux", "devices"}),
            R"([{"path":"/dev/x","type":"c","major":195,"minor":255,"fileMode":438}])");
  // Described by itself, it need not be on the host.
  edits.device_nodes = {{.path = "/dev/absent", .type = "c", .major = 7, .minor = 1},
                        {.path = "/run/pipe", .type = "p"}};
  EXPECT_EQ(Injected(edits, {"linux", "devices"}),
            R"([{"path":"/dev/absent","type":"c","major":7,"minor":1},)"
            R"({"path":"/run/pipe","type":"p","major":0,"minor":0}])");
  EXPECT_EQ(Injected(edits, {"linux", "resources", "devices"}),
            R"([{"allow":true,"type":"c","major":7,"minor":1,"access":"rwm"}])");
}

TEST(Inject, ADeviceNodeIsNoLinkAndNoFile) {
  Host host;
  host.Put("/dev/link", S_IFLNK | 0777, 0, 0);
  host.Put("/dev/block", S_IFBLK | 0660, 8, 0);
  const auto told = [&](const DeviceNode& node) {
    ContainerEdits edits;
    edits.device_nodes = {node};
    const Spec spec = With(edits);
    oci::Spec target = Container("{}");
    const auto result = Inject(target, All(spec), Order::kCommonFirst, host.Look());
    EXPECT_FALSE(target.edited());
    return result.ok() ? "(no error)" : result.error().ToString();
  };
  EXPECT_EQ(told({.path = "/dev/link"}),
            "failed to stat CDI host device \"/dev/link\": not a device node");
  EXPECT_EQ(told({.path = "/dev/none", .major = 195}),
            "failed to stat CDI host device \"/dev/none\": look at /dev/none: No such file or "
            "directory (errno 2)");
  EXPECT_EQ(told({.path = "/dev/block", .type = "c"}),
            "CDI device /dev/block: the specification says c, the host's /dev/block is b");
  EXPECT_EQ(told({.path = std::string("/dev/nvidia0\0x", 14)}),
            "failed to stat CDI host device \"/dev/nvidia0\\x00x\": a NUL byte is in its path");
}

TEST(Inject, ANodeIsTheProcesssOwnUnlessItIsSaid) {
  ContainerEdits edits;
  edits.device_nodes = {{.path = "/dev/nvidia0"},
                        {.path = "/dev/nvidiactl", .permissions = "none", .uid = 0, .gid = 44}};
  const std::string container = R"({"process":{"user":{"uid":1000,"gid":100}}})";
  EXPECT_EQ(
      Injected(edits, {"linux", "devices"}, container),
      R"([{"path":"/dev/nvidia0","type":"c","major":195,"minor":0,"fileMode":438,"uid":1000,"gid":100},)"
      R"({"path":"/dev/nvidiactl","type":"c","major":195,"minor":255,"fileMode":438,"uid":0,"gid":44}])");
  EXPECT_EQ(Injected(edits, {"linux", "resources", "devices"}, container),
            R"([{"allow":true,"type":"c","major":195,"minor":0,"access":"rwm"}])");
}

TEST(Inject, SortsMountsByDepthAndReplacesTwins) {
  ContainerEdits edits;
  edits.mounts = {{"/h/c", "/a/b/c", {"ro", "rbind"}, ""}, {"/h/a", "/a", {}, "bind"}};
  EXPECT_EQ(Injected(edits, {"mounts"},
                     R"({"mounts":[{"destination":"/x/y/z"},{"destination":"/proc", "u":1},)"
                     R"({"destination":"/a/./b//c/","source":"image"},{"destination":"/dev"}]})"),
            R"([{"destination":"/proc","u":1},{"destination":"/dev"},)"
            R"({"destination":"/a","type":"bind","source":"/h/a"},{"destination":"/x/y/z"},)"
            R"({"destination":"/a/b/c","source":"/h/c","options":["ro","rbind"]}])");
}

TEST(Inject, MapsIdsInAUserNamespace) {
  ContainerEdits edits;
  edits.mounts = {{"/a", "/a", {"ro", "rbind"}, ""},
                  {"/b", "/b", {"bind"}, ""},
                  {"/c", "/c", {"rbind", "idmap"}, ""},
                  {"/d", "/d", {}, "bind"},
                  {"tmpfs", "/e", {"nodev"}, "tmpfs"}};
  EXPECT_EQ(Injected(edits, {"mounts"}, R"({"linux":{"namespaces":[{"type":"user"}]}})"),
            R"([{"destination":"/a","source":"/a","options":["ro","rbind","ridmap"]},)"
            R"({"destination":"/b","source":"/b","options":["bind","idmap"]},)"
            R"({"destination":"/c","source":"/c","options":["rbind","idmap"]},)"
            R"({"destination":"/d","type":"bind","source":"/d","options":["idmap"]},)"
            R"({"destination":"/e","type":"tmpfs","source":"tmpfs","options":["nodev"]}])");
}

TEST(Inject, AddsTheRest) {
  ContainerEdits edits;
  edits.hooks = {{"prestart", "/h", {"h", "x"}, {"A=b"}, 5}, {"poststop", "/p", {}, {}, {}}};
  edits.additional_gids = {0, 44, 44};
  edits.net_devices = {{"eth0", "net1"}};
  edits.intel_rdt = IntelRdt{"clos", "L3:0=f", "", {"s"}, true};
  EXPECT_EQ(Injected(edits, {"hooks"}, R"({"hooks":{"prestart":[{"path":"/first"}]}})"),
            R"({"prestart":[{"path":"/first"},)"
            R"({"path":"/h","args":["h","x"],"env":["A=b"],"timeout":5}],)"
            R"("poststop":[{"path":"/p",)"
            R"("env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]}]})");
  EXPECT_EQ(Injected(edits, {"process", "user"}), R"({"additionalGids":[44]})");
  EXPECT_EQ(Injected(edits, {"linux", "netDevices"}), R"({"eth0":{"name":"net1"}})");
  EXPECT_EQ(
      Injected(edits, {"linux", "intelRdt"}, R"({"linux":{"intelRdt":{"closID":"old"}}})"),
      R"({"closID":"clos","l3CacheSchema":"L3:0=f","schemata":["s"],"enableMonitoring":true})");
  edits.hooks[0].hook_name = "mounts";
  EXPECT_EQ(Injected(edits, {}), "no hook is called \"mounts\"");
}

// Both would be found in the image.
TEST(Inject, WhatIsOfTheHostHasAnAbsolutePath) {
  ContainerEdits edits;
  edits.hooks = {{"createContainer", "usr/bin/evil", {}, {"A=b"}, {}}};
  EXPECT_EQ(Injected(edits, {}),
            "the path \"usr/bin/evil\" of a createContainer hook is not absolute");
  edits.hooks = {{"createContainer", "../evil", {}, {"A=b"}, {}}};
  EXPECT_EQ(Injected(edits, {}), "the path \"../evil\" of a createContainer hook is not absolute");
  for (const Mount& mount :
       {Mount{"rootfs/etc", "/a", {"rbind"}, ""}, Mount{"../b", "/a", {"ro", "bind"}, ""},
        Mount{"", "/a", {}, "bind"}}) {
    edits = {};
    edits.mounts = {mount};
    EXPECT_EQ(Injected(edits, {}),
              "the hostPath " + base::Quoted(mount.host_path) + " of a mount is not absolute");
  }
}

TEST(Inject, NothingIsNothing) {
  const Host host;
  oci::Spec target = Container(R"({ "mounts": [] })");
  ASSERT_TRUE(Inject(target, {}, Order::kCommonFirst, host.Look()).ok());
  EXPECT_EQ(target.Text(), R"({ "mounts": [] })");
}

}  // namespace
}  // namespace partita::cdi
