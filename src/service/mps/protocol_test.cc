#include "service/mps/protocol.h"

#include <gtest/gtest.h>

namespace partita::service::mps {
namespace {

Domain Two() {
  Domain domain;
  domain.name = "nvidia.com_gpu";
  domain.members.resize(2);
  domain.members[0].uuid = "GPU-b";
  domain.members[1].uuid = "GPU-a";
  domain.memory = {model::Mebibytes(47923), model::Mebibytes(512)};
  domain.threads = model::Percent(40);
  return domain;
}

TEST(EnvironmentOf, IsAllThatADaemonGets) {
  const Directories directories = DirectoriesOf("/run/nvidia/mps", "nvidia.com_gpu");
  EXPECT_EQ(directories, (Directories{.pipe = "/run/nvidia/mps/nvidia.com_gpu/pipe",
                                      .log = "/run/nvidia/mps/nvidia.com_gpu/log",
                                      .shm = "/run/nvidia/mps/nvidia.com_gpu/shm",
                                      .record = "/run/nvidia/mps/nvidia.com_gpu/domain.json"}));
  EXPECT_EQ(EnvironmentOf(Two(), directories),
            (std::vector<std::string>{"CUDA_MPS_PIPE_DIRECTORY=/run/nvidia/mps/nvidia.com_gpu/pipe",
                                      "CUDA_MPS_LOG_DIRECTORY=/run/nvidia/mps/nvidia.com_gpu/log",
                                      "CUDA_VISIBLE_DEVICES=GPU-b,GPU-a",
                                      "CUDA_DEVICE_ORDER=PCI_BUS_ID"}));
}

TEST(SettingsOf, NameDevicesByTheirOrdinalInTheList) {
  const std::vector<Setting> settings = SettingsOf(Two());
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(settings[0].set, "set_default_device_pinned_mem_limit 0 47923M");
  EXPECT_EQ(settings[0].get, "get_default_device_pinned_mem_limit 0");
  EXPECT_EQ(settings[1].set, "set_default_device_pinned_mem_limit 1 512M");
  EXPECT_EQ(settings[2].set, "set_default_active_thread_percentage 40");
  EXPECT_EQ(settings[2].get, "get_default_active_thread_percentage");
}

TEST(CheckReadBack, WholeGibibytesAreAllThatComesBack) {
  const std::vector<Setting> settings = SettingsOf(Two());
  EXPECT_TRUE(CheckReadBack(settings[0], "46G\n").ok());
  EXPECT_TRUE(CheckReadBack(settings[1], "512M\n").ok());
  EXPECT_TRUE(CheckReadBack(settings[2], "40.0\n").ok());
}

TEST(CheckReadBack, SomethingElseInForceIsToldWithWhatWasSet) {
  const std::vector<Setting> settings = SettingsOf(Two());
  const auto told = [&](std::size_t setting, std::string_view answer) {
    const base::Result<void> end = CheckReadBack(settings[setting], answer);
    return end.ok() ? std::string("ok") : end.error().ToString();
  };
  EXPECT_EQ(told(0, "47G\n"),
            "after \"set_default_device_pinned_mem_limit 0 47923M\" the MPS control daemon has "
            "\"47G\" in force, not 46G");
  EXPECT_EQ(told(1, ""),
            "after \"set_default_device_pinned_mem_limit 1 512M\" the MPS control daemon has "
            "nothing in force, not 512M");
  EXPECT_EQ(told(1, "513M"),
            "after \"set_default_device_pinned_mem_limit 1 512M\" the MPS control daemon has "
            "\"513M\" in force, not 512M");
  EXPECT_EQ(told(2, "100.0\n"),
            "after \"set_default_active_thread_percentage 40\" the MPS control daemon has "
            "\"100.0\" in force, not 40.0");
  EXPECT_EQ(told(2, "Unknown command"),
            "the MPS control daemon answers \"Unknown command\" for a percentage");
}

TEST(ParseMemoryLimit, OnlyWhatTheDaemonWrites) {
  EXPECT_EQ(ParseMemoryLimit("\n").value(), std::nullopt);
  EXPECT_EQ(ParseMemoryLimit("3G\n").value(), model::Mebibytes(3072));
  EXPECT_EQ(ParseMemoryLimit("1023M").value(), model::Mebibytes(1023));
  for (const char* wrong :
       {"G", "0G", "3", "3T", "-3G", "3 G", "18446744073709551615G", "1G\n2G"}) {
    EXPECT_FALSE(ParseMemoryLimit(wrong).ok()) << wrong;
  }
}

TEST(ParsePercentage, OneDigitBehindThePoint) {
  EXPECT_EQ(ParsePercentage("40.0\n").value(), 400U);
  EXPECT_EQ(ParsePercentage("0.5").value(), 5U);
  EXPECT_EQ(ParsePercentage("100.0").value(), 1000U);
  for (const char* wrong : {"", "40", "40.", ".5", "100.1", "140.0", "40.00", "nan", "-1.0"}) {
    EXPECT_FALSE(ParsePercentage(wrong).ok()) << wrong;
  }
}

TEST(ParseServerList, PidsOneALine) {
  EXPECT_EQ(ParseServerList("").value(), std::vector<model::Pid>());
  EXPECT_EQ(ParseServerList("590\n").value(), std::vector<model::Pid>{model::Pid(590)});
  EXPECT_EQ(ParseServerList("590\n725\n").value(),
            (std::vector<model::Pid>{model::Pid(590), model::Pid(725)}));
  const auto wrong = ParseServerList("Cannot find MPS control daemon process\n");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().ToString(),
            "the MPS control daemon answers \"Cannot find MPS control daemon process\" for its "
            "servers");
  EXPECT_FALSE(ParseServerList("0\n").ok());
  EXPECT_FALSE(ParseServerList("-1\n").ok());
  EXPECT_FALSE(ParseServerList("4294967296\n").ok());
}

TEST(ParseServerStatus, KnowsItsWords) {
  EXPECT_EQ(ParseServerStatus("ACTIVE\n").value(), ServerState::kActive);
  EXPECT_EQ(ParseServerStatus("FAULT\n").value(), ServerState::kFault);
  EXPECT_EQ(ParseServerStatus("INITIALIZING\n").value(), ServerState::kInitializing);
  EXPECT_EQ(ParseServerStatus("Server 1 not found\n").value(), ServerState::kGone);
  EXPECT_EQ(ParseServerStatus("DRAINING\n").value(), ServerState::kOther) << "of a newer driver";
  EXPECT_FALSE(ParseServerStatus("").ok());
  EXPECT_FALSE(ParseServerStatus("A server PID is required\n").ok());
}

TEST(Commands, AreTheDaemons) {
  EXPECT_EQ(AskStatus(model::Pid(590)), "get_server_status 590");
  EXPECT_EQ(EndServer(model::Pid(590)), "shutdown_server 590 -f");
  EXPECT_EQ(Quit(3), "quit -t 3");
  EXPECT_EQ(MemoryVariable({model::Mebibytes(1024), model::Mebibytes(7)}), "0=1024M,1=7M");
}

TEST(TellsOfFault, TheServersLineAlone) {
  EXPECT_TRUE(
      TellsOfFault("[2026-11-15 11:45:40.337 Server   590] Server is handling a fatal GPU error."));
  EXPECT_FALSE(TellsOfFault("[2026-11-15 11:45:40.337 Server   590] Server has started"));
  // A command that somebody typed.
  EXPECT_FALSE(TellsOfFault(
      "[2026-11-15 11:45:34.366 Control   506] Cmd:] Server is handling a fatal GPU error."));
  EXPECT_FALSE(TellsOfFault(""));
}

}  // namespace
}  // namespace partita::service::mps
