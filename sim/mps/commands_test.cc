#include "sim/mps/commands.h"

#include <gtest/gtest.h>

namespace partita::sim::mps {
namespace {

TEST(Command, IsTheFirstWord) {
  EXPECT_EQ(ParseCommand("get_server_list").verb, Verb::kGetServerList);
  EXPECT_EQ(ParseCommand("  ps  ").verb, Verb::kPs);
  EXPECT_EQ(ParseCommand("").verb, Verb::kNothing);
  EXPECT_EQ(ParseCommand(" \t").verb, Verb::kNothing);
  const Command unknown = ParseCommand("nonsense and more");
  EXPECT_EQ(unknown.verb, Verb::kUnknown);
  EXPECT_EQ(unknown.word, "nonsense");
  EXPECT_EQ(ParseCommand("PS").verb, Verb::kUnknown);
}

TEST(Command, NamesServersAndClientsByPid) {
  EXPECT_EQ(ParseCommand("get_server_status 590").server, 590U);
  EXPECT_EQ(ParseCommand("get_server_status x").server, 0U);
  EXPECT_EQ(ParseCommand("get_client_list").server, 0U);
  EXPECT_EQ(ParseCommand("get_client_list -3").server, 0U);
  EXPECT_EQ(ParseCommand("get_client_list 99999999999").server, 0U);
  const Command terminate = ParseCommand("terminate_client 725 738");
  EXPECT_EQ(terminate.server, 725U);
  EXPECT_EQ(terminate.client, 738U);
  EXPECT_FALSE(ParseCommand("shutdown_server 3").force);
  EXPECT_TRUE(ParseCommand("shutdown_server 3 -f").force);
}

TEST(Command, TakesAUserOnlyAsANumber) {
  EXPECT_EQ(ParseCommand("start_server -uid 0").user, 0);
  EXPECT_EQ(ParseCommand("start_server -uid x").user, -1);
  EXPECT_EQ(ParseCommand("start_server 0").user, -1);
  EXPECT_EQ(ParseCommand("start_server").user, -1);
}

TEST(Command, QuitMayHaveATime) {
  EXPECT_EQ(ParseCommand("quit").seconds, -1);
  EXPECT_EQ(ParseCommand("quit -t 3").seconds, 3);
  EXPECT_EQ(ParseCommand("quit -t x").seconds, 0);
}

TEST(Command, KeepsDevicesAndValuesAsWritten) {
  const Command limit = ParseCommand("set_device_pinned_mem_limit 590 GPU-a 1G");
  EXPECT_EQ(limit.server, 590U);
  EXPECT_EQ(limit.device, "GPU-a");
  EXPECT_EQ(limit.value, "1G");
  const Command fallback = ParseCommand("set_default_device_pinned_mem_limit 0 many");
  EXPECT_EQ(fallback.device, "0");
  EXPECT_EQ(fallback.value, "many");
  EXPECT_EQ(ParseCommand("set_default_active_thread_percentage").value, "");
  EXPECT_EQ(ParseCommand("set_active_thread_percentage 1 30").value, "30");
}

TEST(Command, ThatChangesSomethingNeedsPrivilege) {
  for (const char* line :
       {"quit", "start_server -uid 0", "shutdown_server 1", "terminate_client 1 2",
        "set_default_active_thread_percentage 1", "set_active_thread_percentage 1 1",
        "set_default_device_pinned_mem_limit 0 1G", "set_device_pinned_mem_limit 1 0 1G",
        "partita_sim_fault 1"}) {
    EXPECT_TRUE(NeedsPrivilege(ParseCommand(line).verb)) << line;
  }
  for (const char* line : {"ps", "get_server_list", "get_server_status 1", "nonsense", ""}) {
    EXPECT_FALSE(NeedsPrivilege(ParseCommand(line).verb)) << line;
  }
}

}  // namespace
}  // namespace partita::sim::mps
