#include "hook/runtime/edit.h"

#include <sys/sysmacros.h>

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "hook/container/container_fixture.h"

namespace partita::hook {
namespace {

using base::ErrorCode;
using base::MakeError;
using base::Value;
using Texts = std::vector<std::string>;

cdi::DeviceNode CharacterNode(const std::string& path, std::int64_t major, std::int64_t minor) {
  cdi::DeviceNode node;
  node.path = path;
  node.type = "c";
  node.major = major;
  node.minor = minor;
  return node;
}

cdi::Hook HookOf(const Texts& arguments) {
  return {"createContainer", "/usr/bin/partita-hook", arguments, {"NVIDIA_CTK_DEBUG=false"}, {}};
}

// Two GPUs, the second of which is cut in two, and one that lacks its node.
cdi::NodeDevices TwoGpus() {
  cdi::NodeDevices node;
  node.driver_version = "580.1";
  node.cuda = "13.0";
  node.dev_root = "/";
  node.spec.kind = "runtime.nvidia.com/gpu";
  node.spec.edits.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  node.spec.edits.device_nodes = {CharacterNode("/dev/nvidiactl", 195, 255)};
  node.spec.edits.hooks = {HookOf({"nvidia-cdi-hook", "update-ldcache"}),
                           HookOf({"nvidia-cdi-hook", "create-symlinks"})};
  node.spec.edits.additional_gids = {44};
  const auto add = [&](std::uint32_t index, std::optional<std::uint32_t> slot, bool offered) {
    cdi::DeviceRow row;
    row.index = row.minor = index;
    row.uuid = "GPU-" + std::to_string(index);
    row.compute = "9.0";
    row.brand = "tesla";
    std::string name = std::to_string(index);
    cdi::Device device;
    device.edits.device_nodes = {CharacterNode("/dev/nvidia" + name, 195, index)};
    if (slot) {
      name += ":" + std::to_string(*slot);
      row.mig = {.slot = *slot, .gi = *slot + 1, .uuid = "MIG-" + name};
      device.edits.device_nodes.push_back(CharacterNode(
          "/dev/nvidia-caps/nvidia-cap" + std::to_string(10 + *slot), 240, 10 + *slot));
    }
    device.name = name;
    if (offered) {
      row.cdi_name = name;
      node.spec.devices.push_back(device);
    }
    node.rows.push_back(row);
  };
  add(0, {}, true);
  add(1, {}, true);
  add(1, 0, true);
  add(1, 1, true);
  add(2, {}, false);
  node.spec.devices[0].edits.device_nodes.push_back(CharacterNode("/dev/dri/card0", 226, 0));
  node.spec.devices[0].edits.hooks = {HookOf({"nvidia-cdi-hook", "create-symlinks", "by-path"})};
  cdi::Device all;
  all.name = "all";
  all.edits.device_nodes = {CharacterNode("/dev/nvidia0", 195, 0),
                            CharacterNode("/dev/nvidia1", 195, 1)};
  node.spec.devices.push_back(all);
  return node;
}

class RuntimeEdit : public ContainerTest {
 protected:
  RuntimeEdit() {
    facts_.devices = [this](std::span<const std::string> ids) -> base::Result<cdi::NodeDevices> {
      asked_.assign(ids.begin(), ids.end());
      return node_;
    };
    facts_.mode_spec = [](const std::string& mode) -> base::Result<cdi::Spec> {
      if (mode == "mofed") return MakeError(ErrorCode::kNotFound, "there is no /dev/infiniband");
      cdi::Spec spec;
      spec.kind = "runtime.nvidia.com/" + mode;
      for (const char* name : {"0", "7"}) {
        cdi::Device device;
        device.name = name;
        device.edits.device_nodes = {CharacterNode("/dev/" + mode + name, 300, 1)};
        spec.devices.push_back(device);
      }
      return spec;
    };
    facts_.registry = [this] {
      return cdi::Registry::Read(std::vector<std::string>{Path("in/cdi")});
    };
    facts_.read_file = [](const std::string&) -> base::Result<std::string> {
      return std::string("config 1\nmonitor 2\ngpu0/gi0/access 3\n");
    };
    facts_.look = [](const std::string& path) -> base::Result<base::FileFacts> {
      base::FileFacts facts;
      facts.mode = S_IFCHR | 0666;
      facts.device = makedev(path.find("caps") == std::string::npos ? 195 : 240, 1);
      return facts;
    };
    facts_.hook_program = "/usr/bin/partita-hook";
    facts_.prestart_program = "/usr/bin/nvidia-container-runtime-hook";
  }

  struct Container {
    Texts env{};
    std::string more{};  // members of the document
    bool privileged = false;
  };
  static std::string Document(const Container& container) {
    Value env = Value::List();
    for (const std::string& entry : container.env) env.Add(entry);
    std::string text = R"({"ociVersion":"1.0.2","process":{"env":)" + base::ToJsonLine(env);
    if (container.privileged) text += R"(,"capabilities":{"bounding":["CAP_SYS_ADMIN"]})";
    return text + R"(},"linux":{"fooNew":{"a": 1.50}})" + container.more + "}";
  }

  // What became of it; an error's text where there is one.
  std::string Run(const Container& container) {
    auto spec = oci::Spec::Parse(Document(container));
    EXPECT_TRUE(spec.ok()) << spec.error().ToString();
    const auto edit = EditSpec(*spec, config_, facts_);
    if (!edit.ok()) return edit.error().ToString();
    edit_ = *edit;
    text_ = spec->Text();
    EXPECT_EQ(edit_.changed, text_ != Document(container));
    after_ = *base::ParseJson(text_);
    std::string nodes;
    for (const Value& device : Items("linux", "devices"))
      nodes += (nodes.empty() ? "" : " ") + device.Find("path")->AsString();
    return nodes;
  }
  std::string RunVisible(const std::string& value) {
    return Run({.env = {"NVIDIA_VISIBLE_DEVICES=" + value}});
  }

  std::vector<Value> Items(const char* map, const char* list) const {
    const Value* value = after_.Find(map);
    value = value == nullptr ? nullptr : value->Find(list);
    return value == nullptr ? std::vector<Value>() : value->items();
  }
  // Arguments of every hook of a list.
  Texts Hooks(const char* list) const {
    Texts hooks;
    for (const Value& hook : Items("hooks", list)) {
      EXPECT_FALSE(hook.Find("env")->items().empty());
      std::string words = hook.Find("path")->AsString();
      for (const Value& word : hook.Find("args")->items()) words += " " + word.AsString();
      hooks.push_back(words);
    }
    return hooks;
  }
  void CdiFile(const std::string& name, const std::string& kind, const Texts& devices) {
    std::string list, common;
    for (const std::string& device : devices)
      list += fmt::format(
          R"({{"name":"{0}","containerEdits":{{"deviceNodes":[{{"path":"/dev/nvidia{0}","type":"c","major":195}}]}}}},)",
          device);
    list.pop_back();
    Write("in/cdi/" + name, R"({"cdiVersion":"0.5.0","kind":")" + kind + R"(","devices":[)" + list +
                                R"(],"containerEdits":{"env":["FROM=)" + kind + R"("]}})");
  }

  cdi::NodeDevices node_ = TwoGpus();
  config::ToolkitConfig config_;
  NodeFacts facts_;
  Texts asked_;
  Edit edit_;
  std::string text_;
  Value after_;
};

TEST_F(RuntimeEdit, NoGpuContainerIsLeftAlone) {
  facts_ = {};
  for (const char* value : {"", "void", "0,void"}) {
    EXPECT_EQ(RunVisible(value), "");
    EXPECT_FALSE(edit_.changed);
  }
  config_.runtime_mode = "nonsense";
  EXPECT_EQ(RunVisible("void"), "");
}

TEST_F(RuntimeEdit, JitCdiByEveryName) {
  EXPECT_EQ(RunVisible("0"), "/dev/nvidia0 /dev/dri/card0 /dev/nvidiactl");
  EXPECT_EQ(asked_, Texts{"0"});
  EXPECT_EQ(edit_.summary, "mode jit-cdi: devices 0");
  EXPECT_EQ(RunVisible("1:1"), "/dev/nvidia1 /dev/nvidia-caps/nvidia-cap11 /dev/nvidiactl");
  EXPECT_EQ(RunVisible("all"), "/dev/nvidia0 /dev/nvidia1 /dev/nvidiactl");
  EXPECT_EQ(RunVisible("none"), "/dev/nvidiactl");
  EXPECT_EQ(RunVisible("runtime.nvidia.com/gpu=1"), "/dev/nvidia1 /dev/nvidiactl");
  EXPECT_EQ(edit_.summary, "mode cdi: devices runtime.nvidia.com/gpu=1");
  EXPECT_NE(text_.find(R"("fooNew":{"a": 1.50})"), std::string::npos);
}

TEST_F(RuntimeEdit, DeviceEditsComeBeforeCommonOnesAndRestrictProcLast) {
  RunVisible("0");
  EXPECT_EQ(Hooks("createContainer"),
            Texts{"/usr/bin/partita-hook nvidia-cdi-hook in-turn create-symlinks by-path -- "
                  "update-ldcache -- create-symlinks -- restrict-proc"});
  config_.restrict_proc = false;
  RunVisible("0");
  EXPECT_EQ(Hooks("createContainer"),
            Texts{"/usr/bin/partita-hook nvidia-cdi-hook in-turn create-symlinks by-path -- "
                  "update-ldcache -- create-symlinks"});
}

TEST_F(RuntimeEdit, HooksOfOthersAreLeftAlone) {
  const std::string own = R"({"path":"/usr/bin/partita-hook", "args":["nvidia-cdi-hook","noop"],)"
                          R"("env":["NVIDIA_CTK_DEBUG=false"]})";
  Run({.env = {"NVIDIA_VISIBLE_DEVICES=1"},
       .more = R"(,"hooks":{"createContainer":[)" + own + "]}"});
  EXPECT_NE(text_.find(own), std::string::npos);
  EXPECT_EQ(Hooks("createContainer"),
            (Texts{"/usr/bin/partita-hook nvidia-cdi-hook noop",
                   "/usr/bin/partita-hook nvidia-cdi-hook in-turn update-ldcache -- "
                   "create-symlinks -- restrict-proc"}));
  facts_.hook_program = "/opt/partita-hook";
  RunVisible("1");
  EXPECT_EQ(Hooks("createContainer").size(), 3U);
}

TEST_F(RuntimeEdit, WhatIsNotThereIsRefused) {
  EXPECT_EQ(RunVisible("9"), "9: unknown device");
  EXPECT_NE(RunVisible("../x"), "");
  EXPECT_FALSE(edit_.changed);
  EXPECT_EQ(RunVisible("2"), "device GPU-2 lacks one of its device nodes");
  node_.spec.devices.clear();
  EXPECT_EQ(RunVisible("all"), "this machine offers no device");
}

TEST_F(RuntimeEdit, R14TheRealCauseIsTold) {
  facts_.devices = [](std::span<const std::string>) -> base::Result<cdi::NodeDevices> {
    return MakeError(ErrorCode::kUnavailable, "NVML is not there");
  };
  EXPECT_EQ(RunVisible("0"), "NVML is not there");
}

TEST_F(RuntimeEdit, R8MixedKindsAreRefused) {
  EXPECT_EQ(RunVisible("nvidia.com/gpu=0,1"),
            "devices of runtime.nvidia.com/gpu (1) and of other kinds (nvidia.com/gpu=0) in one "
            "request");
}

TEST_F(RuntimeEdit, R9AnAnnotationIsByCdi) {
  CdiFile("nvidia.json", "nvidia.com/gpu", {"0", "1"});
  const std::string annotated = R"(,"annotations":{"cdi.k8s.io/x":"nvidia.com/gpu=0"})";
  EXPECT_EQ(Run({.env = {"NVIDIA_VISIBLE_DEVICES=all"}, .more = annotated}), "/dev/nvidia0");
  EXPECT_EQ(edit_.summary, "mode cdi: devices nvidia.com/gpu=0");
  config_.runtime_mode = "jit-cdi";
  EXPECT_EQ(Run({.env = {"NVIDIA_VISIBLE_DEVICES=1"}, .more = annotated}),
            "/dev/nvidia1 /dev/nvidiactl");
  EXPECT_EQ(Run({.env = {}, .more = annotated}), "");
}

TEST_F(RuntimeEdit, CdiModeNamesTheDefaultKind) {
  CdiFile("nvidia.json", "nvidia.com/gpu", {"0", "1", "all", "MIG-GPU-1_2_0"});
  config_.runtime_mode = "cdi";
  EXPECT_EQ(RunVisible("1"), "/dev/nvidia1");
  EXPECT_EQ(RunVisible("all"), "/dev/nvidiaall");
  EXPECT_EQ(RunVisible("MIG-GPU-1/2/0"), "/dev/nvidiaMIG-GPU-1_2_0");
  EXPECT_EQ(Hooks("createContainer"), Texts{"/usr/bin/partita-hook nvidia-cdi-hook restrict-proc"});
  EXPECT_EQ(RunVisible("none"), "");
  EXPECT_NE(text_.find("FROM=nvidia.com/gpu"), std::string::npos);
  EXPECT_EQ(
      RunVisible("7,other.com/x=y"),
      "failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=7, other.com/x=y");
}

// By UUID alone, one MIG device by its number, and that one as it was before.
constexpr const char* kFewNames =
    R"({"cdiVersion":"0.5.0","kind":"nvidia.com/gpu","containerEdits":{"env":["A=b"]},"devices":[)"
    R"({"name":"GPU-ab","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia0"}]}},)"
    R"({"name":"MIG-cd","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia1"},)"
    R"({"path":"/dev/nvidia-caps/nvidia-cap10"},{"path":"/dev/nvidia-caps/nvidia-cap20"}]}},)"
    R"({"name":"1:1","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia1"},)"
    R"({"path":"/dev/nvidia-caps/nvidia-cap98"},{"path":"/dev/nvidia-caps/nvidia-cap99"}]}}]})";

TEST_F(RuntimeEdit, CdiModeFindsADeviceByEveryNameItHas) {
  Write("in/cdi/nvidia.json", kFewNames);
  config_.runtime_mode = "cdi";
  node_.rows[0].uuid = "GPU-ab";
  node_.rows[0].pci = "0000:3b:00.0";
  node_.rows[2].mig = {.slot = 0, .gi = 3, .ci = 1, .gi_cap = 10, .ci_cap = 20, .uuid = "MIG-cd"};
  node_.rows[3].mig = {.slot = 1, .gi = 4, .ci = 0, .gi_cap = 11, .ci_cap = 21, .uuid = "MIG-ef"};
  const std::string slice =
      "/dev/nvidia1 /dev/nvidia-caps/nvidia-cap10 /dev/nvidia-caps/nvidia-cap20";
  for (const char* id : {"gpu-AB", "nvidia.com/gpu=Gpu-ab"})
    EXPECT_EQ(RunVisible(id), "/dev/nvidia0") << id;
  EXPECT_EQ(RunVisible("mig-CD"), slice);
  EXPECT_EQ(asked_, Texts()) << "the files have it";
  for (const char* id : {"0", "0000:3B:00.0", "3b:00.0", "nvidia.com/gpu=3b:00.0", "0,gpu-AB"})
    EXPECT_EQ(RunVisible(id), "/dev/nvidia0") << id;
  for (const char* id : {"1:0", "MIG-GPU-1/3/1", "mig-gpu-1/3/1", "nvidia.com/gpu=MIG-GPU-1/3/1"})
    EXPECT_EQ(RunVisible(id), slice) << id;
  EXPECT_EQ(RunVisible("MIG-GPU-1/4/0"),
            "failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=MIG-GPU-1_4_0")
      << "1:1 of the file has nodes of another";
  EXPECT_EQ(asked_, Texts{"MIG-GPU-1/4/0"});
}

TEST_F(RuntimeEdit, CdiModeAsksTheNodeOnlyForGpus) {
  Write("in/cdi/nvidia.json", kFewNames);
  CdiFile("other.json", "other.com/net", {"Eth0"});
  config_.runtime_mode = "cdi";
  for (const char* id : {"other.com/net=eth0", "other.com/net=none", "other.com/net=0", "../x"})
    EXPECT_NE(RunVisible(id).find("unresolvable CDI devices"), std::string::npos) << id;
  EXPECT_EQ(asked_, Texts());
  facts_.devices = [](std::span<const std::string>) -> base::Result<cdi::NodeDevices> {
    return MakeError(ErrorCode::kUnavailable, "NVML is not there");
  };
  auto spec = oci::Spec::Parse(Document({.env = {"NVIDIA_VISIBLE_DEVICES=0"}}));
  const auto edit = EditSpec(*spec, config_, facts_);
  ASSERT_FALSE(edit.ok());
  EXPECT_EQ(edit.error().hint().find("NVML is not there; "), 0U) << edit.error().hint();
}

TEST_F(RuntimeEdit, NoneOfTheFilesIsWithoutADevice) {
  CdiFile("nvidia.json", "nvidia.com/gpu", {"0"});
  EXPECT_EQ(RunVisible("nvidia.com/gpu=none"), "");
  EXPECT_NE(text_.find("FROM=nvidia.com/gpu"), std::string::npos);
  const std::string annotated = R"(,"annotations":{"cdi.k8s.io/x":"nvidia.com/gpu=none"})";
  EXPECT_EQ(Run({.env = {}, .more = annotated}), "");
  EXPECT_TRUE(edit_.changed);
}

TEST_F(RuntimeEdit, NoneNeedsAFileOfItsKind) {
  config_.runtime_mode = "cdi";
  EXPECT_EQ(RunVisible("none"),
            "failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=none");
  CdiFile("other.json", "other.com/gpu", {"0"});
  EXPECT_NE(RunVisible("none").find("unresolvable"), std::string::npos);
}

// With all that a specification can add; the same hook is of two devices.
constexpr const char* kEverything =
    R"({"cdiVersion":"0.7.0","kind":"nvidia.com/gpu","devices":[{"name":"0","containerEdits":{)"
    R"("deviceNodes":[{"path":"/dev/nvidia0"}],"hooks":[{"hookName":"createContainer",)"
    R"("path":"/bin/x","args":["x"],"env":["A=b"]}]}},{"name":"1","containerEdits":{)"
    R"("deviceNodes":[{"path":"/dev/nvidia1"}],"hooks":[{"hookName":"createContainer",)"
    R"("path":"/bin/x","args":["x"],"env":["A=b"],"timeout":3}]}}],"containerEdits":{)"
    R"("env":["A=b"],"mounts":[{"hostPath":"/lib/a","containerPath":"/lib/deep/a","options":)"
    R"(["ro"]},{"hostPath":"/b","containerPath":"/b"}],"additionalGids":[44],"hooks":[)"
    R"({"hookName":"createRuntime","path":"/bin/y","env":["A=b"]}]}})";

TEST_F(RuntimeEdit, EditedTwiceIsEditedOnce) {
  Write("in/cdi/nvidia.json", kEverything);
  node_.spec.edits.env = {};  // "void" would end it
  const auto twice = [&](const Container& container) {
    std::string text = Document(container), once;
    for (int i = 0; i < 2; ++i) {
      auto spec = oci::Spec::Parse(text);
      const auto edit = EditSpec(*spec, config_, facts_);
      ASSERT_TRUE(edit.ok()) << edit.error().ToString();
      EXPECT_TRUE(edit->changed);
      text = spec->Text();
      if (i == 0) once = text;
    }
    EXPECT_EQ(text, once);
  };
  const std::string rules =
      R"(,"mounts":[{"destination":"/proc/x"},{"destination":"/b"}],"annotations":{)";
  twice({.env = {}, .more = rules + R"("cdi.k8s.io/x":"nvidia.com/gpu=0,nvidia.com/gpu=1"})"});
  for (const char* mode : {"cdi", "jit-cdi"}) {
    config_.runtime_mode = mode;
    twice({.env = {"NVIDIA_VISIBLE_DEVICES=0,1"}, .more = rules + "}"});
  }
  config_.runtime_mode = "legacy";
  config_.legacy_cuda_compat_mode = "hook";
  twice({.env = {"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_DRIVER_CAPABILITIES=all"}});
}

constexpr const char* kTwins =
    R"(,"hooks":{"prestart":[{"path":"/bin/other","args":["x"],"env":["A=b"]},)"
    R"({"path":"/usr/bin/nvidia-container-runtime-hook","args":["a","prestart"],"env":["A=b"]},)"
    R"({"path":"/x/nvidia-container-toolkit","args":["b"],"env":["A=b"]}]})";

TEST_F(RuntimeEdit, R13PrestartTwinsAreRemoved) {
  EXPECT_EQ(Run({.env = {"NVIDIA_VISIBLE_DEVICES=1"}, .more = kTwins}),
            "/dev/nvidia1 /dev/nvidiactl");
  EXPECT_EQ(Hooks("prestart"), Texts{"/bin/other x"});
}

TEST_F(RuntimeEdit, LegacyInsertsTheHookOnce) {
  config_.runtime_mode = "legacy";
  EXPECT_EQ(RunVisible("0"), "");
  EXPECT_EQ(Hooks("prestart"), Texts{"/usr/bin/nvidia-container-runtime-hook "
                                     "nvidia-container-runtime-hook prestart"});
  EXPECT_EQ(Hooks("createContainer"), Texts());
  EXPECT_EQ(asked_, Texts());
  auto spec = oci::Spec::Parse(Document({.env = {"NVIDIA_VISIBLE_DEVICES=0"}, .more = kTwins}));
  ASSERT_TRUE(EditSpec(*spec, config_, facts_).ok());
  EXPECT_EQ(spec->hooks("prestart").size(), 3U);
}

TEST_F(RuntimeEdit, LegacyGraphicsGetsItsNodes) {
  config_.runtime_mode = "legacy";
  EXPECT_EQ(Run({.env = {"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_DRIVER_CAPABILITIES=graphics"}}),
            "/dev/dri/card0");
  EXPECT_EQ(Hooks("createContainer"),
            Texts{"/usr/bin/partita-hook nvidia-cdi-hook create-symlinks by-path"});
  EXPECT_EQ(Run({.env = {"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_DRIVER_CAPABILITIES=compute"}}), "");
}

TEST_F(RuntimeEdit, LegacyCompatibilityByHook) {
  config_.runtime_mode = "legacy";
  config_.legacy_cuda_compat_mode = "hook";
  RunVisible("0");
  EXPECT_EQ(Hooks("createContainer"),
            Texts{"/usr/bin/partita-hook nvidia-cdi-hook in-turn enable-cuda-compat "
                  "--host-driver-version=580.1 -- update-ldcache"});
  config_.disable_cuda_compat_lib_hook = true;
  RunVisible("0");
  EXPECT_EQ(Hooks("createContainer"), Texts());
}

TEST_F(RuntimeEdit, TheConfigurationLeavesThingsOut) {
  config_.jit_disable_hooks = {"update-ldcache"};
  config_.jit_feature_flags = {"no-additional-gids-for-device-nodes", "other"};
  RunVisible("1");
  EXPECT_EQ(
      Hooks("createContainer"),
      Texts{"/usr/bin/partita-hook nvidia-cdi-hook in-turn create-symlinks -- restrict-proc"});
  EXPECT_EQ(text_.find("additionalGids"), std::string::npos);
  EXPECT_EQ(edit_.warnings, Texts{"the feature flag \"other\" has no effect here"});
  config_ = {};
  config_.jit_disable_hooks = {"all"};
  RunVisible("1");
  EXPECT_EQ(Hooks("createContainer").size(), 1U);
  EXPECT_NE(text_.find("additionalGids"), std::string::npos);
}

TEST_F(RuntimeEdit, GatedModesAndChannels) {
  const std::string one = "NVIDIA_VISIBLE_DEVICES=1";
  EXPECT_EQ(Run({.env = {one, "NVIDIA_GDS=enabled", "NVIDIA_IMEX_CHANNELS=7"}}),
            "/dev/nvidia1 /dev/nvidiactl /dev/gds0 /dev/gds7 /dev/imex7");
  EXPECT_EQ(Run({.env = {one, "NVIDIA_MOFED=enabled"}}), "there is no /dev/infiniband");
  EXPECT_EQ(Run({.env = {one, "NVIDIA_IMEX_CHANNELS=3"}}), "there is no IMEX channel 3");
}

TEST_F(RuntimeEdit, MigCapabilities) {
  const Texts env = {"NVIDIA_VISIBLE_DEVICES=1", "NVIDIA_MIG_CONFIG_DEVICES=all",
                     "NVIDIA_MIG_MONITOR_DEVICES=all"};
  EXPECT_EQ(Run({.env = env, .privileged = true}),
            "/dev/nvidia1 /dev/nvidiactl /dev/nvidia-caps/nvidia-cap1 "
            "/dev/nvidia-caps/nvidia-cap2");
  EXPECT_EQ(Run({.env = env}), "cannot set MIG_CONFIG_DEVICES in non privileged container");
  facts_.read_file = [](const std::string& path) -> base::Result<std::string> {
    return base::ErrnoError(path, ENOENT);
  };
  EXPECT_EQ(Run({.env = env, .privileged = true}), "/dev/nvidia1 /dev/nvidiactl");
  EXPECT_EQ(edit_.warnings, Texts{"no GPU of this machine has MIG: its variables are ignored"});
}

TEST_F(RuntimeEdit, RequirementsAreCheckedWhereTheConfigurationSaysSo) {
  const Texts env = {"NVIDIA_VISIBLE_DEVICES=1", "NVIDIA_REQUIRE_CUDA=cuda>=14.0"};
  EXPECT_EQ(Run({.env = env}), "/dev/nvidia1 /dev/nvidiactl");
  config_.check_requirements = true;
  EXPECT_EQ(Run({.env = env}), "unsatisfied condition: cuda>=14.0");
  EXPECT_EQ(Run({.env = {env[0], "NVIDIA_REQUIRE_CUDA=cuda>=13.0"}}),
            "/dev/nvidia1 /dev/nvidiactl");
}

TEST_F(RuntimeEdit, IgnoredRequestsAreWarnings) {
  config_.accept_envvar_unprivileged = false;
  EXPECT_EQ(RunVisible("all"), "");
  EXPECT_FALSE(edit_.changed);
  EXPECT_EQ(edit_.warnings.size(), 1U);
  EXPECT_EQ(Run({.env = {"NVIDIA_VISIBLE_DEVICES=1"}, .privileged = true}),
            "/dev/nvidia1 /dev/nvidiactl");
}

}  // namespace
}  // namespace partita::hook
