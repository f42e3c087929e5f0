#include "cli/selector/processes.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace partita::cli {
namespace {

TEST(Processes, AreFoundByTheirFirstWord) {
  const std::vector<StartedProcess> processes = {{2, ""},
                                                 {7, "/usr/bin/mps-control-daemon"},
                                                 {8, "nvidia-device-plugin"},
                                                 {9, "sh"},
                                                 {10, "nvidia-device-plugin"}};
  EXPECT_EQ(FindProcess(processes, "nvidia-device-plugin"), 8);
  EXPECT_EQ(FindProcess(processes, "sh"), 9);
  EXPECT_EQ(FindProcess(processes, "bash"), std::nullopt);
}

// As the reference's chart names one.
TEST(Processes, AreFoundWithOrWithoutTheirFolder) {
  const std::vector<StartedProcess> processes = {
      {2, ""}, {7, "mps-control-daemon"}, {8, "/usr/bin/nvidia-device-plugin"}};
  EXPECT_EQ(FindProcess(processes, "/usr/bin/mps-control-daemon"), 7);
  EXPECT_EQ(FindProcess(processes, "nvidia-device-plugin"), 8);
  const std::vector<StartedProcess> both = {{7, "/opt/plugin"}, {8, "plugin"}};
  EXPECT_EQ(FindProcess(both, "plugin"), 8) << "the very word comes first";
}

// One without a command line is nobody's.
TEST(Processes, WithoutAWordAreNobody) {
  const std::vector<StartedProcess> processes = {{2, ""}};
  EXPECT_EQ(FindProcess(processes, ""), std::nullopt);
  EXPECT_EQ(FindProcess(processes, "/"), std::nullopt);
}

TEST(Processes, OfThisMachineAreRead) {
  const std::vector<StartedProcess> processes = ReadProcesses("/proc");
  EXPECT_TRUE(std::any_of(processes.begin(), processes.end(), [](const StartedProcess& each) {
    return each.pid == getpid() && !each.first_word.empty();
  }));
}

}  // namespace
}  // namespace partita::cli
