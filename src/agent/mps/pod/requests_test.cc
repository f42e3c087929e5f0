#include "agent/mps/pod/requests.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/mps/domain_files.h"

namespace partita::agent::mps::pod {
namespace {

using base::Value;

const std::string kRoot = "/run/nvidia/mps";  // NOLINT(cert-err58-cpp)

// What daemon.cc asks for.
Launch GoodLaunch() {
  const service::mps::Directories directories = service::mps::DirectoriesOf(kRoot, "GPU-1");
  service::mps::Domain domain;
  domain.name = "GPU-1";
  domain.members.resize(2);
  domain.members[0].uuid = "GPU-75dc73da-0a1b-2c3d-4e5f-001122334455";
  domain.members[1].uuid = "MIG-GPU-1/7/0";
  return {.domain = "GPU-1",
          .arguments = {"-f"},
          .environment = service::mps::EnvironmentOf(domain, directories),
          .output = LogFile(directories)};
}

std::string WhyNot(const Launch& launch) {
  const base::Result<Launch> read = ReadLaunch(ToParams(launch), kRoot);
  return read.ok() ? "" : read.error().ToString();
}

TEST(Requests, WhatAnAgentAsksForIsRead) {
  const base::Result<Launch> read = ReadLaunch(ToParams(GoodLaunch()), kRoot);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(*read, GoodLaunch());
  // A newer agent may say more.
  EXPECT_TRUE(ReadLaunch(ToParams(GoodLaunch()).Set("colour", "red"), kRoot).ok());
}

TEST(Requests, NoOtherDaemonIsStarted) {
  struct Row {
    const char* what;
    std::function<void(Launch&)> change;
    const char* why;
  };
  const auto environment = [](std::size_t at, std::string text) {
    return [at, text = std::move(text)](Launch& launch) { launch.environment[at] = text; };
  };
  const std::vector<Row> rows = {
      {"another daemon's directory", [](Launch& l) { l.domain = "GPU-2"; }, "PIPE_DIRECTORY"},
      {"out of the root", [](Launch& l) { l.domain = ".."; }, "\"..\" as domain"},
      {"a path", [](Launch& l) { l.domain = "a/b"; }, "\"a/b\" as domain"},
      {"no name", [](Launch& l) { l.domain = ""; }, "\"\" as domain"},
      {"no -f", [](Launch& l) { l.arguments = {}; }, "as arguments"},
      {"-d", [](Launch& l) { l.arguments = {"-d"}; }, "\"-d\" as arguments"},
      {"more",
       [](Launch& l) {
         l.arguments = {"-f", "-x"};
       },
       "\"-f -x\" as arguments"},
      {"a library to be loaded",
       [](Launch& l) { l.environment.emplace_back("LD_PRELOAD=/tmp/evil.so"); },
       "\"LD_PRELOAD\" as environment"},
      {"a path of programs", [](Launch& l) { l.environment.emplace_back("PATH=/tmp"); },
       "\"PATH\" as environment"},
      {"one twice", [](Launch& l) { l.environment.push_back(l.environment[0]); }, "as environment"},
      {"no variable", environment(3, "CUDA_DEVICE_ORDER"), "as environment"},
      {"other pipes", environment(0, "CUDA_MPS_PIPE_DIRECTORY=/tmp"),
       "\"/tmp\" as CUDA_MPS_PIPE_DIRECTORY"},
      {"pipes out of the root",
       environment(0, "CUDA_MPS_PIPE_DIRECTORY=/run/nvidia/mps/GPU-1/../../pipe"),
       "as CUDA_MPS_PIPE_DIRECTORY"},
      {"no pipes", environment(0, "CUDA_MPS_PIPE_DIRECTORY="), "\"\" as CUDA_MPS_PIPE_DIRECTORY"},
      {"another log", environment(1, "CUDA_MPS_LOG_DIRECTORY=/etc"),
       "\"/etc\" as CUDA_MPS_LOG_DIRECTORY"},
      {"no device", environment(2, "CUDA_VISIBLE_DEVICES="), "\"\" as CUDA_VISIBLE_DEVICES"},
      {"devices of several lines", environment(2, "CUDA_VISIBLE_DEVICES=0\nLD_PRELOAD=/x"),
       "as CUDA_VISIBLE_DEVICES"},
      {"too many", environment(2, "CUDA_VISIBLE_DEVICES=" + std::string(4097, '0')),
       "as CUDA_VISIBLE_DEVICES"},
      {"a NUL", environment(2, std::string("CUDA_VISIBLE_DEVICES=0\0x", 24)), "as environment"},
      {"another order", environment(3, "CUDA_DEVICE_ORDER=FASTEST_FIRST"),
       "\"FASTEST_FIRST\" as CUDA_DEVICE_ORDER"},
      {"another output", [](Launch& l) { l.output = "/etc/cron.d/evil"; },
       "\"/etc/cron.d/evil\" as output"},
      {"an output beside it", [](Launch& l) { l.output = "/run/nvidia/mps/GPU-1/log/../x"; },
       "as output"},
  };
  for (const Row& row : rows) {
    Launch launch = GoodLaunch();
    row.change(launch);
    const std::string why = WhyNot(launch);
    EXPECT_TRUE(why.starts_with("the MPS runner does not take ")) << row.what << ": " << why;
    EXPECT_NE(why.find(row.why), std::string::npos) << row.what << ": " << why;
  }
}

TEST(Requests, WhatIsNoTextIsRefused) {
  for (const char* key : {"domain", "arguments", "environment", "output"}) {
    for (const Value& odd : {Value(1), Value(), Value::Map(), Value::List().Add(1)}) {
      EXPECT_FALSE(ReadLaunch(ToParams(GoodLaunch()).Set(key, odd), kRoot).ok()) << key;
    }
  }
  EXPECT_FALSE(ReadLaunch(Value::Map(), kRoot).ok());
  EXPECT_EQ(ReadShm(Value::Map(), kRoot).error().ToString(),
            "the MPS runner needs \"shm\" as a text");
  EXPECT_FALSE(ReadQuestion(Value::Map(), kRoot).ok());
}

TEST(Requests, AnotherRootIsExplained) {
  const base::Result<std::string> elsewhere = ReadShm(ShmParams("/srv/mps/GPU-1/shm"), kRoot);
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_EQ(elsewhere.error().ToString(),
            "the MPS runner does not take \"/srv/mps/GPU-1/shm\" as shm");
  EXPECT_EQ(elsewhere.error().hint(),
            "mps.root of the agent and --root of the runner, which is /run/nvidia/mps, are to be "
            "the same");
}

TEST(Requests, NothingElseIsMounted) {
  EXPECT_EQ(ReadShm(ShmParams("/run/nvidia/mps/GPU-1/shm"), kRoot).value(), "GPU-1");
  for (const char* path :
       {"", "/", "shm", "/shm", "//shm", "/run/nvidia/mps/shm", "/run/nvidia/mps//shm",
        "/run/nvidia/mps/../shm", "/run/nvidia/mps/./shm", "/run/nvidia/mps/GPU-1/../shm",
        "/run/nvidia/mps/a/b/shm", "/run/nvidia/mps/GPU-1/pipe", "/run/nvidia/mps/GPU-1/shm/",
        "/run/nvidia/mps/GPU-1//shm", "/run/nvidia/mpsGPU-1/shm", "/etc/GPU-1/shm",
        "run/nvidia/mps/GPU-1/shm", "/run/nvidia/mps/GPU 1/shm"}) {
    EXPECT_FALSE(ReadShm(ShmParams(path), kRoot).ok()) << path;
  }
}

TEST(Requests, OnlyWhatTheAgentSaysIsSaidToADaemon) {
  const service::mps::Directories good = service::mps::DirectoriesOf(kRoot, "GPU-1");
  for (const std::string& command :
       {std::string(service::mps::kPing), std::string(service::mps::kListServers),
        service::mps::AskStatus(model::Pid(12)), service::mps::EndServer(model::Pid(12)),
        service::mps::Quit(3), std::string("set_default_device_pinned_mem_limit 0 20480M"),
        std::string("get_default_device_pinned_mem_limit 0"),
        std::string("set_default_active_thread_percentage 50")}) {
    const base::Result<Question> question = ReadQuestion(ToParams(good, command), kRoot);
    ASSERT_TRUE(question.ok()) << question.error().ToString();
    EXPECT_EQ(*question, (Question{"GPU-1", command}));
  }
  for (const std::string& command :
       {std::string(), std::string("ps"), std::string(" quit"), std::string("quit\nquit"),
        std::string("quit;x"), std::string("start_server -uid 0"), std::string("quit\0", 5),
        std::string("quit 3\nstart_server -uid 0"), std::string("quit 3;start_server -uid 0"),
        std::string("quit 3\0", 7), "quit " + std::string(200, '0')}) {
    EXPECT_FALSE(ReadQuestion(ToParams(good, command), kRoot).ok()) << command;
  }
  service::mps::Directories other = good;
  other.pipe = "/tmp/GPU-1/pipe";
  EXPECT_FALSE(ReadQuestion(ToParams(other, "quit"), kRoot).ok());
}

}  // namespace
}  // namespace partita::agent::mps::pod
