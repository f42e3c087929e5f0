// kill -9 at every NVML call of an apply: whatever is left, the next apply makes what was wanted,
// and nothing in use was destroyed on the way.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "service/mig/node_plan.h"
#include "tests/integration/node_under_change.h"

namespace partita::integration {
namespace {

constexpr std::uint64_t kPassing = 9001;
constexpr std::uint64_t kHanging = 9002;

// The first `pass` calls of any program go through, the next one hangs before it does anything.
void HangAfter(SimulatedMachine& machine, std::uint32_t pass, std::uint32_t gpu) {
  machine.Change([pass, gpu](const sim::Machine&, sim::Slot& slot) {
    sim::CallFault fault{};
    fault.live = 1;
    fault.gpu = gpu;
    std::strcpy(fault.function, "*");
    fault.kind = sim::CallFaultKind::kSlow;  // by nothing
    fault.remaining = pass;
    fault.id = kPassing;
    // Faults catch in order: the second one is reached when the first is used up.
    slot.call_faults[0] = fault;
    if (pass == 0) slot.call_faults[0].live = 0;
    fault.kind = sim::CallFaultKind::kHang;
    fault.remaining = 1;
    fault.id = kHanging;
    slot.call_faults[1] = fault;
  });
}

bool Hangs(SimulatedMachine& machine) {
  return machine.store().Read([](const sim::Slot& slot) { return slot.call_faults[1].live == 2; });
}

// Runs the apply in a process of its own that is killed in its n-th call. False: it ended before.
bool KillAtCall(NodeUnderChange& node,
                const std::string& entries,
                std::uint32_t n,
                std::uint32_t gpu) {
  HangAfter(node.machine(), n, gpu);
  const pid_t child = fork();
  if (child == 0) {
    const auto result = node.Apply(entries);
    _exit(result.ok() && result->applied ? 0 : 1);
  }
  int status = 0;
  for (;;) {
    const std::uint32_t seen = node.machine().store().Wakeups();
    if (Hangs(node.machine())) break;
    if (waitpid(child, &status, WNOHANG) == child) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "call " << n;
      node.machine().ClearCallFaults();
      return false;
    }
    // The end of the child wakes nobody: look again before long.
    node.machine().store().WaitForChange(seen, 2'000'000);
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  // A tool that it had started lives on, hangs until now, and is this process's child then.
  node.machine().ClearCallFaults();
  while (waitpid(-1, &status, 0) > 0) {
  }
  return true;
}

struct Case {
  const char* name;
  const char* node;
  const char* first;                  // the layout before; empty: MIG off
  std::optional<std::uint32_t> used;  // the start of its instance in use
  const char* wanted;
  const char* layout;              // what must be there in the end
  std::uint32_t gpu = sim::kNone;  // only calls on this GPU are counted
};

class KillTest : public ::testing::TestWithParam<Case> {};

TEST_P(KillTest, AtEveryCallIsHealedByTheNextApply) {
  const Case& test = GetParam();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  NodeUnderChange node(test.node);
  if (*test.first != '\0') {
    const auto first = node.Apply(test.first);
    ASSERT_TRUE(first.ok() && first->applied);
  }
  const std::optional<std::uint32_t> used =
      test.used ? std::optional(node.InstanceAt(0, *test.used)) : std::nullopt;
  if (used) node.Use(0, used);
  const auto before = std::make_unique<sim::Slot>();
  node.machine().store().Snapshot(before.get());

  std::uint32_t n = 0;
  for (bool killed = true; killed; ++n) {
    SCOPED_TRACE(n);
    node.machine().Change([&](const sim::Machine&, sim::Slot& slot) { slot = *before; });
    killed = KillAtCall(node, test.wanted, n, test.gpu);
    if (used) {
      ASSERT_EQ(node.InstanceAt(0, *test.used), *used);
    }
    const auto next = node.Apply(test.wanted);
    ASSERT_TRUE(next.ok()) << next.error().ToString();
    ASSERT_TRUE(next->applied) << (next->errors.empty() ? "" : next->errors.front());
    ASSERT_EQ(service::mig::Describe(next->after.gpus[0]), test.layout);
    ASSERT_EQ(next->after.gpus[0].processes.size(), used ? 1U : 0U);
  }
  EXPECT_GT(n, 50U) << "calls of one apply";
}

INSTANTIATE_TEST_SUITE_P(
    Applies,
    KillTest,
    ::testing::Values(
        Case{"HopperFromOff",
             "h200-vm",
             "",
             {},
             "  - {devices: all, mig-enabled: true, mig-devices: {3g: 1, 1g: 2}}\n",
             "MIG on: 1g.18gb@0, 1g.18gb@1, 3g.71gb@4"},
        Case{"HopperWithABusySlice", "h200-vm",
             "  - {devices: all, mig-enabled: true, mig-devices: {3g: 2}}\n", 4,
             "  - {devices: all, mig-enabled: true, mig-devices: {3g: 1, 1g: 2, 2g: 1}}\n",
             "MIG on: 2g.35gb@0, 1g.18gb@2, 1g.18gb@3, 3g.71gb@4"},
        // Through a reset: the tool's calls are among those that are counted.
        Case{"AmpereFromOff",
             "dgx-a100-40",
             "",
             {},
             "  - {devices: [0], mig-enabled: true, mig-devices: {4g: 1, 3g: 1}}\n",
             "MIG on: 4g.20gb@0, 3g.20gb@4",
             0},
        Case{"AmpereToOff",
             "dgx-a100-40",
             "  - {devices: [0], mig-enabled: true, mig-devices: {4g: 1, 3g: 1}}\n",
             {},
             "  - {devices: [0], mig-enabled: false}\n",
             "MIG off",
             0}),
    [](const ::testing::TestParamInfo<Case>& test) { return test.param.name; });

}  // namespace
}  // namespace partita::integration
