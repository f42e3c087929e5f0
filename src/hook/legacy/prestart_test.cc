#include "hook/legacy/prestart.h"

#include "hook/container/container_fixture.h"

namespace partita::hook {
namespace {

using config::ToolkitConfig;
using request::Kind;
using Command = PrestartArguments::Command;
using Words = std::vector<std::string>;

TEST(ParsePrestart, FlagsComeBeforeTheCommand) {
  const auto parsed = ParsePrestart(Words{"-debug", "--config", "/x.toml", "prestart", "-bogus"});
  ASSERT_TRUE(parsed.ok()) << Told(parsed);
  EXPECT_EQ(parsed->command, Command::kPrestart);
  EXPECT_EQ(parsed->config, "/x.toml");
  EXPECT_TRUE(parsed->debug);
  EXPECT_EQ(ParsePrestart(Words{"-config=/y", "-debug=false", "poststop"})->config, "/y");
  EXPECT_FALSE(ParsePrestart(Words{"-debug=false", "poststop"})->debug);
  EXPECT_EQ(ParsePrestart(Words{"poststart"})->command, Command::kNothing);
  EXPECT_EQ(ParsePrestart(Words{"-version"})->command, Command::kVersion);
}

TEST(ParsePrestart, WhatItRefuses) {
  EXPECT_EQ(Told(ParsePrestart(Words{})), "no command is named");
  EXPECT_EQ(Told(ParsePrestart(Words{"start"})), "there is no command \"start\"");
  EXPECT_EQ(Told(ParsePrestart(Words{"-x", "prestart"})), "there is no flag \"-x\"");
  EXPECT_EQ(Told(ParsePrestart(Words{"-config"})), "the flag --config needs a value");
}

class ReadPrestartTest : public ContainerTest {
 protected:
  // The container whose process has this variable.
  base::Result<std::optional<LegacyCall>> Read(const std::string& variable,
                                               const ToolkitConfig& config = {}) {
    Write("bundle/config.json", R"({"ociVersion": "1.0.2", "process": {"env": [")" + variable +
                                    R"("]}, "root": {"path": ")" + root_ + R"("}})");
    return ReadPrestart({.id = "c", .bundle = Path("bundle"), .root = "", .pid = 7}, config,
                        Report("test", Report::Level::kError));
  }
  std::string root_ = "rootfs";
};

TEST_F(ReadPrestartTest, NoGpuIsNothingToDo) {
  for (const char* variable : {"X=1", "NVIDIA_VISIBLE_DEVICES=", "NVIDIA_VISIBLE_DEVICES=void"}) {
    const auto call = Read(variable);
    ASSERT_TRUE(call.ok()) << Told(call);
    EXPECT_FALSE(call->has_value()) << variable;
  }
}

TEST_F(ReadPrestartTest, ByTheConfiguration) {
  ToolkitConfig config;
  config.cli_ldconfig = "@/sbin/ldconfig.real";
  config.cli_root = "/run/nvidia/driver";
  config.cli_no_cgroups = true;
  config.legacy_cuda_compat_mode = "disabled";
  auto call = Read("NVIDIA_VISIBLE_DEVICES=0,1:2", config);
  ASSERT_TRUE(call.ok() && *call) << Told(call);
  EXPECT_EQ((*call)->request.devices, (Words{"0", "1:2"}));
  EXPECT_EQ((*call)->pid, 7);
  EXPECT_EQ((*call)->root.path, "rootfs");
  ASSERT_TRUE((*call)->root.bundle);
  EXPECT_EQ((*call)->root.bundle->path, Path("bundle"));
  EXPECT_EQ((*call)->driver_root, "/run/nvidia/driver");
  EXPECT_EQ((*call)->ldconfig, "/sbin/ldconfig.real");
  EXPECT_TRUE(!(*call)->cgroups && (*call)->bind_nodes && !(*call)->cuda_compat);
  root_ = "/elsewhere";
  call = Read("NVIDIA_VISIBLE_DEVICES=none");
  ASSERT_TRUE(call.ok() && *call) << Told(call);
  EXPECT_EQ((*call)->request.kind, Kind::kNone);
  EXPECT_EQ((*call)->root.path, "/elsewhere");
  EXPECT_FALSE((*call)->root.bundle);
  EXPECT_TRUE((*call)->cgroups && (*call)->cuda_compat);
}

TEST_F(ReadPrestartTest, WhenTheImagesCudaCounts) {
  struct Row {
    const char* mode;
    std::optional<bool> allowed;
    bool counts;
  };
  for (const Row& row : {Row{"ldconfig", {}, true}, Row{"mount", {}, true}, Row{"hook", {}, false},
                         Row{"disabled", true, false}, Row{"", true, true}, Row{"", {}, false}}) {
    ToolkitConfig config;
    config.legacy_cuda_compat_mode = row.mode;
    config.allow_cuda_compat_libs_from_container = row.allowed;
    const auto call = Read("NVIDIA_VISIBLE_DEVICES=all", config);
    ASSERT_TRUE(call.ok() && *call) << Told(call);
    EXPECT_EQ((*call)->cuda_compat, row.counts) << row.mode;
  }
}

TEST_F(ReadPrestartTest, EveryModeIsServedButAnotherPlatforms) {
  ToolkitConfig config;
  for (const char* mode : {"auto", "legacy", "cdi", "jit-cdi"}) {
    config.runtime_mode = mode;
    EXPECT_TRUE(Read("NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=0", config).ok()) << mode;
  }
  config.runtime_mode = "csv";
  EXPECT_EQ(Told(Read("NVIDIA_VISIBLE_DEVICES=0", config)), "unsupported mode \"csv\"");
  config.hook_skip_mode_detection = true;
  EXPECT_TRUE(Read("NVIDIA_VISIBLE_DEVICES=0", config).ok());
}

}  // namespace
}  // namespace partita::hook
