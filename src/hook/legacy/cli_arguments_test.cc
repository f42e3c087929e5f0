#include "hook/legacy/cli_arguments.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace partita::hook {
namespace {

using request::Kind;

base::Result<CliCall> Parsed(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string_view word : base::SplitWords(line)) words.emplace_back(word);
  return ParseContainerCli(words);
}
std::string Refused(std::string_view line) {
  const auto parsed = Parsed(line);
  return parsed.ok() ? "(no error)" : parsed.error().ToString();
}

TEST(ContainerCli, AsTheReferencesHookCallsIt) {
  const auto parsed = Parsed(
      "--root=/run/nvidia/driver --load-kmods --no-pivot --debug=/var/log/x --ldcache=/etc/c "
      "--user "
      "configure --cuda-compat-mode=ldconfig --ldconfig=@/sbin/ldconfig.real --no-cgroups "
      "--device=0:1,GPU-x --device 0:1 --mig-config=all --imex-channel=0,7 --compute --utility "
      "--compat32 --require=cuda>=12.0 --require driver>=500 --pid=4711 /x/rootfs");
  ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
  EXPECT_EQ(parsed->call.driver_root, "/run/nvidia/driver");
  EXPECT_TRUE(parsed->debug);
  const LegacyCall& call = parsed->call;
  EXPECT_EQ(call.pid, 4711);
  EXPECT_EQ(call.root.path, "/x/rootfs");
  EXPECT_EQ(call.ldconfig, "/sbin/ldconfig.real");
  EXPECT_TRUE(!call.cgroups && call.bind_nodes && call.cuda_compat);
  EXPECT_EQ(call.request.kind, Kind::kDevices);
  EXPECT_EQ(call.request.devices, (std::vector<std::string>{"0:1", "GPU-x"}));
  EXPECT_EQ(
      call.request.capabilities,
      (std::set{cdi::Capability::kCompute, cdi::Capability::kCompat32, cdi::Capability::kUtility}));
  EXPECT_EQ(call.request.requirements, (std::vector<std::string>{"cuda>=12.0", "driver>=500"}));
  EXPECT_TRUE(call.request.mig_config && !call.request.mig_monitor);
  EXPECT_EQ(call.request.imex_channels, (std::vector<std::string>{"0", "7"}));
}

TEST(ContainerCli, WithoutDevicesTheDriverAlone) {
  const auto none = Parsed("configure --pid=1 --no-devbind /x");
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->call.request.kind, Kind::kNone);
  EXPECT_TRUE(none->call.cgroups && !none->call.bind_nodes && !none->call.cuda_compat);
  EXPECT_EQ(none->call.ldconfig, "/sbin/ldconfig");
  const auto all = Parsed("configure --device=0,ALL --pid=1 /x");
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->call.request.kind, Kind::kAll);
  EXPECT_TRUE(all->call.request.devices.empty());
}

TEST(ContainerCli, RefusesWhatItCannotObey) {
  EXPECT_EQ(Refused(""), "no command is named");
  EXPECT_EQ(Refused("list"), "its command list is not here");
  EXPECT_EQ(Refused("--bogus configure --pid=1 /x"), "there is no flag \"--bogus\"");
  EXPECT_EQ(Refused("configure --pid=1 --bogus /x"), "there is no flag \"--bogus\"");
  EXPECT_EQ(Refused("configure --pid=1"), "the container's root is not named by its whole path");
  EXPECT_EQ(Refused("configure --pid=1 x"), "the container's root is not named by its whole path");
  for (const char* pid : {"", "--pid=0", "--pid=x", "--pid=2147483648"})
    EXPECT_EQ(Refused(fmt::format("configure {} /x", pid)),
              "--pid is not the number of the container's process")
        << pid;
  EXPECT_EQ(Refused("configure --pid=1 --mig-monitor=0 /x"), "--mig-monitor can only be \"all\"");
  EXPECT_EQ(Refused("configure --pid=1 --imex-channel=4294967296 /x"),
            "\"4294967296\" is no number of an IMEX channel");
  EXPECT_EQ(Refused("configure --pid=1 --ldconfig=/sbin/ldconfig /x"),
            "--ldconfig is \"/sbin/ldconfig\"");
  EXPECT_EQ(Refused("configure --pid=1 --ldconfig=@ /x"), "--ldconfig is \"@\"");
}

}  // namespace
}  // namespace partita::hook
