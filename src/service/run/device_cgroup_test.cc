#include "service/run/device_cgroup.h"

#include <gtest/gtest.h>

namespace partita::service::run {
namespace {

std::string Shown(const std::vector<partita::cdi::DeviceNode>& nodes) {
  std::string text;
  for (const hook::DeviceRule& rule : RulesFor(nodes)) text += ToString(rule) + "\n";
  return text;
}

TEST(DeviceCgroup, AllowsTheUsualDevicesAndTheNodesLast) {
  partita::cdi::DeviceNode gpu;
  gpu.path = "/dev/nvidia3";
  gpu.major = 195;
  gpu.minor = 3;
  const std::string usual =
      "c 1:3 rw\nc 1:5 rw\nc 1:7 rw\nc 1:8 rw\nc 1:9 rw\nc 5:* rw\nc 136:* rw\n";
  EXPECT_EQ(Shown({}), usual);
  EXPECT_EQ(Shown({gpu}), usual + "c 195:3 rw\n");
}

}  // namespace
}  // namespace partita::service::run
