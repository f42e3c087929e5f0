#include "agent/mps/systemd_runner.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace partita::agent::mps {
namespace {

// systemd itself is in tests/boot/mps.sh.
TEST(SystemdRunner, AUnitHasTheEnvironmentAndTheServersOfItsDaemon) {
  const std::vector<std::string> words =
      TransientUnit("/usr/bin/nvidia-cuda-mps-control",
                    {.domain = "GPU-a",
                     .arguments = {"-f"},
                     .environment = {"CUDA_VISIBLE_DEVICES=GPU-a", "X=a b $HOME %n"},
                     .output = "/run/mps/GPU-a/log/control.log"});
  EXPECT_EQ(words.front(), "systemd-run");
  const auto has = [&](const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  for (const char* word : {"--collect", "--service-type=exec", "--unit=partita-mps-GPU-a.service",
                           "--property=KillMode=control-group", "--property=OOMPolicy=continue",
                           "--property=StandardOutput=append:/run/mps/GPU-a/log/control.log",
                           "--property=StandardError=append:/run/mps/GPU-a/log/control.log",
                           "--setenv=CUDA_VISIBLE_DEVICES=GPU-a", "--setenv=X=a b $HOME %n",
                           "--setenv=PATH=/usr/bin:/usr/bin:/bin"}) {
    EXPECT_TRUE(has(word)) << word;
  }
  const std::vector<std::string> command(words.end() - 3, words.end());
  EXPECT_EQ(command, (std::vector<std::string>{"--", "/usr/bin/nvidia-cuda-mps-control", "-f"}));
}

}  // namespace
}  // namespace partita::agent::mps
