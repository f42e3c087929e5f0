#include <gtest/gtest.h>

#include "service/toolkit/engine.h"

namespace partita::service::toolkit {
namespace {

constexpr const char* kMain = "/etc/containerd/config.toml";
constexpr const char* kDropIn = "/etc/containerd/conf.d/99-nvidia.toml";

ConfigureOrder ContainerdOrder() {
  return {.runtime_path = "/usr/bin/nvidia-container-runtime", .config = kMain, .drop_in = kDropIn};
}

// Both files after the plan, as they were where it says nothing of them.
struct After {
  std::optional<std::string> main, drop_in;
  std::vector<std::string> notes;
  FileMemory memory{};  // of the drop-in
};

After Apply(const std::optional<std::string>& main,
            const std::optional<std::string>& drop_in,
            const ConfigureOrder& order,
            const EngineMemory& memory = {}) {
  After after = {main, drop_in, {}};
  const base::Result<EnginePlan> plan = PlanContainerd(main, drop_in, order, memory);
  EXPECT_TRUE(plan.ok()) << plan.error().ToString();
  for (const FileChange& change : plan->changes) {
    (change.path == kMain ? after.main : after.drop_in) = change.after;
    if (change.path == kDropIn) after.memory = change.memory;
  }
  after.notes = plan->notes;
  return after;
}

std::string ErrorOf(std::string main) {
  const base::Result<EnginePlan> plan =
      PlanContainerd(std::move(main), std::nullopt, ContainerdOrder());
  return plan.ok() ? "" : plan.error().ToString();
}

std::string Body(const std::optional<std::string>& drop_in) {
  return drop_in ? drop_in->substr(drop_in->find("version =")) : "";
}

constexpr std::string_view kSystemd = R"(# ours
version = 2

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.9" # pinned
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
[plugins."io.containerd.internal.v1.opt"]
  path = "/opt/containerd"
)";

TEST(Containerd, InheritsSystemdCgroup) {
  const After after = Apply(std::string(kSystemd), std::nullopt, ContainerdOrder());
  std::string main(kSystemd);
  main.insert(main.find("version = 2\n") + 12, "imports = [\"/etc/containerd/conf.d/*.toml\"]\n");
  EXPECT_EQ(after.main, main);
  EXPECT_EQ(Body(after.drop_in), R"(version = 2

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.9" # pinned
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
      SystemdCgroup = true
      BinaryName = "/usr/bin/nvidia-container-runtime"
)");
  EXPECT_TRUE(after.notes.empty());
}

TEST(Containerd, SecondRunIsNoChange) {
  const std::array<std::string, 4> files = {std::string(kSystemd), "", "[grpc]\n  gid = 0\n",
                                            "version = 3\n"};
  for (const std::string& file : files) {
    for (const bool everything : {false, true}) {
      ConfigureOrder order = ContainerdOrder();
      order.set_as_default = order.enable_cdi = everything;
      const After once = Apply(file, std::nullopt, order);
      const base::Result<EnginePlan> again = PlanContainerd(once.main, once.drop_in, order);
      ASSERT_TRUE(again.ok());
      EXPECT_TRUE(again->changes.empty()) << file;
    }
  }
}

TEST(Containerd, ByVersion) {
  const After newest = Apply("version = 3\n", std::nullopt, ContainerdOrder());
  EXPECT_NE(newest.drop_in->find("version = 3\n"), std::string::npos);
  EXPECT_NE(
      newest.drop_in->find("[plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.nvidia]"),
      std::string::npos);
  const After empty = Apply(std::nullopt, std::nullopt, ContainerdOrder());
  EXPECT_EQ(*empty.main, "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n");
  EXPECT_EQ(Body(empty.drop_in), R"(version = 2

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
  runtime_type = "io.containerd.runc.v2"
  runtime_root = ""
  runtime_engine = ""
  privileged_without_host_devices = false

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
  BinaryName = "/usr/bin/nvidia-container-runtime"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
)");
  const After old =
      Apply("[plugins.cri]\n  sandbox_image = \"x\"\n", std::nullopt, ContainerdOrder());
  EXPECT_EQ(old.drop_in, std::nullopt);
  EXPECT_EQ(*old.main, R"([plugins.cri]
  sandbox_image = "x"
[plugins.cri.containerd.runtimes.nvidia]
  runtime_type = "io.containerd.runc.v2"
  runtime_root = ""
  runtime_engine = ""
  privileged_without_host_devices = false
[plugins.cri.containerd.runtimes.nvidia.options]
  BinaryName = "/usr/bin/nvidia-container-runtime"
  Runtime = "/usr/bin/nvidia-container-runtime"
[plugins.cri.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
)");
}

// containerd 1 takes the runtimes of the file instead of its own, and no pod starts without the
// default one (seen: 1.6.20, "no corresponding runtime configured").
TEST(Containerd, RuncStaysWhereTheFileNamesNoRuntime) {
  const std::string table = "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]";
  const std::string ours =
      "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia]\nruntime_type = \"a\"\n";
  EXPECT_NE(Apply("version = 2\n", std::nullopt, ContainerdOrder()).drop_in->find(table),
            std::string::npos);
  EXPECT_NE(Apply("version = 2\n" + ours, std::nullopt, ContainerdOrder()).drop_in->find(table),
            std::string::npos);
  const std::string crun =
      "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.crun]\n";
  EXPECT_EQ(Apply(crun, std::nullopt, ContainerdOrder()).drop_in->find(table), std::string::npos);
}

TEST(Containerd, CdiOfVersionOneIsInThePluginItself) {
  ConfigureOrder order = ContainerdOrder();
  order.enable_cdi = true;
  const After after = Apply("[plugins.cri]\n", std::nullopt, order);
  EXPECT_TRUE(after.main->starts_with("[plugins.cri]\n  enable_cdi = true\n")) << *after.main;
}

// Unlike NVIDIA's program, which takes it back: whoever configures again may not know of it.
TEST(Containerd, ADefaultStaysUntilUndo) {
  ConfigureOrder order = ContainerdOrder();
  order.set_as_default = true;
  const After once = Apply(std::string(kSystemd), std::nullopt, order);
  EXPECT_NE(once.drop_in->find("default_runtime_name = \"nvidia\""), std::string::npos);
  EngineMemory memory;
  memory.drop_in = once.memory;
  for (const bool untouched : {false, true}) {
    memory.drop_in.written = memory.drop_in.created = true;
    memory.drop_in.untouched = untouched;
    EXPECT_EQ(Apply(once.main, once.drop_in, ContainerdOrder(), memory).drop_in, once.drop_in);
  }
}

TEST(Containerd, ADropInOfOthersIsEdited) {
  const std::string other =
      "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.kata]\n"
      "  runtime_type = 'k'\n";
  EXPECT_TRUE(Apply(std::string(kSystemd), other, ContainerdOrder()).drop_in->starts_with(other));
  EngineMemory memory;
  memory.drop_in = {.written = true, .created = true};
  EXPECT_TRUE(
      Apply(std::string(kSystemd), other, ContainerdOrder(), memory).drop_in->starts_with(other));
}

TEST(Containerd, CopiesFromDefault) {
  const After after = Apply(
      "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n"
      "default_runtime_name = \"foo\"\n"
      "runtimes.runc.runtime_type = \"a\"\nruntimes.foo.runtime_type = \"b\"\n"
      "runtimes.foo.options.X = 1\n",
      std::nullopt, ContainerdOrder());
  EXPECT_NE(after.drop_in->find("runtimes.nvidia]\nruntime_type = \"b\"\n"), std::string::npos)
      << *after.drop_in;
  EXPECT_NE(after.drop_in->find("runtimes.nvidia.options]\nX = 1\n"), std::string::npos);
  EXPECT_NE(after.drop_in->find("default_runtime_name = \"foo\""), std::string::npos);
}

TEST(Containerd, EmptyTypeReplaced) {
  const After after = Apply(
      "version = 2\n"
      "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\nruntime_type = \"\"\n",
      std::nullopt, ContainerdOrder());
  EXPECT_NE(after.drop_in->find("runtimes.nvidia]\nruntime_type = \"io.containerd.runc.v2\"\n"),
            std::string::npos)
      << *after.drop_in;
}

TEST(Containerd, AnImportThatIsThereIsEnough) {
  for (const char* import : {"\"/etc/containerd/conf.d/*.toml\"", "'conf.d/*.toml'",
                             "\"/etc/containerd/conf.d/99-nvidia.toml\""}) {
    const std::string main = fmt::format("version = 2\nimports = [{}]\n", import);
    EXPECT_EQ(Apply(main, std::nullopt, ContainerdOrder()).main, main);
  }
  const After other =
      Apply("version = 2\nimports = [\"/run/x.toml\"]\n", std::nullopt, ContainerdOrder());
  EXPECT_EQ(*other.main,
            "version = 2\nimports = [\"/run/x.toml\", \"/etc/containerd/conf.d/*.toml\"]\n");
  ASSERT_EQ(other.notes.size(), 1U);
  EXPECT_NE(other.notes[0].find("imports /run/x.toml too"), std::string::npos);
}

TEST(Containerd, TablesOfVersionTwoWithoutAVersionGetIt) {
  const After after = Apply(
      "[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n  default_runtime_name = \"runc\"\n",
      std::nullopt, ContainerdOrder());
  EXPECT_TRUE(after.main->starts_with(
      "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n[plugins.\"io"))
      << *after.main;
  ASSERT_EQ(after.notes.size(), 1U);
  EXPECT_NE(after.notes[0].find("version = 2 is added"), std::string::npos);
  EXPECT_EQ(
      ErrorOf("[plugins.cri]\n[plugins.\"io.containerd.grpc.v1.cri\"]\n"),
      "/etc/containerd/config.toml: tables of two versions of the CRI plugin, and no version");
}

TEST(Containerd, ADisabledPluginIsTold) {
  const After after = Apply("disabled_plugins = [\"cri\"]\n", std::nullopt, ContainerdOrder());
  ASSERT_EQ(after.notes.size(), 1U);
  EXPECT_NE(after.notes[0].find("disables \"cri\""), std::string::npos);
}

TEST(Containerd, TheDumpIsTheSource) {
  ConfigureOrder order = ContainerdOrder();
  order.dump =
      "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]\n"
      "  runtime_type = 'x'\n";
  const After after = Apply("version = 2\n", std::nullopt, order);
  EXPECT_NE(after.drop_in->find("version = 3"), std::string::npos);
  EXPECT_NE(after.drop_in->find("runtimes.nvidia]\n  runtime_type = \"x\"\n"), std::string::npos)
      << *after.drop_in;
}

TEST(Containerd, ABadFileIsAnError) {
  EXPECT_EQ(ErrorOf("version = 2\nversion = 2\n"),
            "/etc/containerd/config.toml:2:1: \"version\" is there already\n"
            "    2 | version = 2\n"
            "      | ^^^^^^^ it is in line 1");
  EXPECT_EQ(ErrorOf("version = \"2\"\n"),
            "/etc/containerd/config.toml: version \"2\" is no version of containerd's");
  EXPECT_EQ(ErrorOf("version = 2\nimports = 1\n"),
            "/etc/containerd/config.toml: imports is no list");
  EXPECT_EQ(ErrorOf("version = 2\nplugins = 1\n"),
            "/etc/containerd/config.toml: plugins is no table");
  EXPECT_EQ(ErrorOf("[plugins.cri.containerd]\nruntimes = [1]\n"),
            "/etc/containerd/config.toml: plugins.cri.containerd.runtimes is no table");
  EXPECT_EQ(ErrorOf("[plugins.cri.containerd.runtimes]\nnvidia = 1\n"),
            "/etc/containerd/config.toml: plugins.cri.containerd.runtimes.nvidia is no table, so "
            "plugins.cri.containerd.runtimes.nvidia.runtime_type cannot be set");
}

}  // namespace
}  // namespace partita::service::toolkit
