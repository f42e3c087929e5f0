// kill -9 at every NVML call of an apply: whatever is left, the next apply makes what was wanted,
// and nothing in use was destroyed on the way.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "service/mig/node_plan.h"
#include "tests/integration/node_under_change.h"

namespace partita::integration {
namespace {

constexpr std::uint64_t kPassing = 9001;
constexpr std::uint64_t kHanging = 9002;

// One driver call of a run: the how-manieth of its name on its GPU.
struct Call {
  std::string function;
  std::uint32_t gpu = sim::kNone;  // kNone: a call without a GPU
  std::uint32_t before = 0;        // calls like it before

  [[nodiscard]] std::string ToString() const {
    const std::string on = gpu == sim::kNone ? "" : fmt::format(" on GPU {}", gpu);
    return fmt::format("{}{}, {} before it", function, on, before);
  }
};

// "PID TID FUNCTION gpu=N|- rc=… us=…", a line for each call of the run and of the tools it
// started.
std::vector<Call> ParseCalls(const std::string& log) {
  std::vector<Call> calls;
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> seen;
  for (const std::string_view line : base::SplitLines(base::Trim(log))) {
    const std::vector<std::string_view> words = base::SplitWords(line);
    if (words.at(4) == "rc=1") continue;
    Call call{.function = std::string(words.at(2))};
    const std::string_view gpu = words.at(3).substr(4);
    if (gpu != "-") std::from_chars(gpu.data(), gpu.data() + gpu.size(), call.gpu);
    call.before = seen[{call.function, call.gpu}]++;
    calls.push_back(std::move(call));
  }
  return calls;
}

bool ChangesSomething(const Call& call) {
  for (const char* word : {"Create", "Destroy", "Set", "Init", "Shutdown"}) {
    if (call.function.find(word) != std::string::npos) return true;
  }
  return false;
}

// All of them; with PARTITA_KILL_EVERY=N those that change something, the one after each of those,
// and every N-th of the others: a kill between two reads leaves the same as the one before it.
std::vector<Call> Chosen(const std::vector<Call>& calls) {
  const char* text = std::getenv("PARTITA_KILL_EVERY");
  const std::uint64_t every = text == nullptr ? 1 : base::ParseUnsigned(text).value_or(1);
  std::vector<Call> chosen;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const bool after = i > 0 && ChangesSomething(calls[i - 1]);
    if (i % every == 0 || after || ChangesSomething(calls[i])) chosen.push_back(calls[i]);
  }
  return chosen;
}

// The calls like this one before it go through; it hangs before it does anything.
void HangIn(SimulatedMachine& machine, const Call& call) {
  machine.Change([&call](const sim::Machine&, sim::Slot& slot) {
    sim::CallFault fault{};
    fault.live = 1;
    fault.gpu = call.gpu;
    call.function.copy(fault.function, sizeof fault.function - 1);
    fault.kind = sim::CallFaultKind::kSlow;  // by nothing
    fault.remaining = call.before;
    fault.id = kPassing;
    // Faults catch in order: the second one is reached when the first is used up.
    slot.call_faults[0] = fault;
    if (call.before == 0) slot.call_faults[0].live = 0;
    fault.kind = sim::CallFaultKind::kHang;
    fault.remaining = 1;
    fault.id = kHanging;
    slot.call_faults[1] = fault;
  });
}

bool Hangs(SimulatedMachine& machine) {
  return machine.store().Read([](const sim::Slot& slot) { return slot.call_faults[1].live == 2; });
}

// `partita mig apply` of one file on a simulated machine, as a process of its own.
class ApplyProgram {
 public:
  ApplyProgram(NodeUnderChange& node, const std::string& entries) : node_(node) {
    const std::string text = "version: v1\nmig-configs:\n  c:\n" + entries;
    EXPECT_TRUE(base::WriteFile(File(), text, 0644).ok());
  }

  [[nodiscard]] pid_t Start() const {
    const pid_t child = fork();
    if (child == 0) {
      Become();
      _exit(127);
    }
    return child;
  }

  // To its end: 0 is success.
  [[nodiscard]] int Run() const {
    int status = -1;
    waitpid(Start(), &status, 0);
    return status;
  }

  // Every driver call of one run.
  [[nodiscard]] std::vector<Call> Calls() const {
    const std::string log = node_.machine().root() + "/calls";
    setenv("PARTITA_SIM_CALLS", log.c_str(), 1);
    EXPECT_EQ(Run(), 0) << Said();
    unsetenv("PARTITA_SIM_CALLS");
    const auto text = base::ReadFile(log);
    EXPECT_TRUE(text.ok());
    return ParseCalls(text.ok() ? *text : "");
  }

  // Kills the program in that call. False: it ended before, or it is another one that hangs.
  [[nodiscard]] bool KillIn(const Call& call) const {
    SimulatedMachine& machine = node_.machine();
    HangIn(machine, call);
    const pid_t child = Start();
    int status = 0;
    bool hangs = false;
    // Far above what it takes: only for a program that neither comes to the call nor ends.
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
      if (std::chrono::steady_clock::now() > limit) {
        ADD_FAILURE() << "neither in " << call.function << " nor at its end: " << Said();
        break;
      }
      const std::uint32_t seen = machine.store().Wakeups();
      hangs = Hangs(machine);
      if (hangs || waitpid(child, &status, WNOHANG) == child) break;
      // The end of the child wakes nobody: look again before long.
      machine.store().WaitForChange(seen, 2'000'000);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    // A tool that it had started dies with it, and is this process's child then.
    machine.ClearCallFaults();
    while (waitpid(-1, &status, 0) > 0) {
    }
    return hangs;
  }

  [[nodiscard]] std::string Said() const {
    const auto text = base::ReadFile(Output());
    return text.ok() ? *text : text.error().ToString();
  }

 private:
  [[nodiscard]] std::string File() const { return node_.machine().root() + "/mig.yaml"; }
  [[nodiscard]] std::string Output() const { return node_.machine().root() + "/said"; }

  void Become() const {
    const int output = open(Output().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    const std::string& root = node_.machine().root();
    setenv("PARTITA_RUN_DIR", (root + "/run").c_str(), 1);
    setenv("PARTITA_STATE_DIR", (root + "/var").c_str(), 1);
    execl(PARTITA_PROGRAM, PARTITA_PROGRAM, "--library", PARTITA_SIM_LIBRARY, "--host-root",
          root.c_str(), "--driver-root", root.c_str(), "mig", "apply", "--yes", "-f",
          File().c_str(), nullptr);
  }

  NodeUnderChange& node_;
};

// Where a process works: in the GPU instance at a slice, or on the whole GPU.
struct Used {
  std::uint32_t gpu = 0;
  std::optional<std::uint32_t> start;
};

struct Case {
  std::string name;
  const char* node;
  const char* first;  // the layout before; empty: MIG off
  std::vector<Used> used;
  const char* wanted;
  std::vector<const char*> layouts;  // of each GPU in the end
};

using Facts = std::vector<std::uint64_t>;

// What is in use, so that a replacement at the same place is told from it.
Facts InUse(NodeUnderChange& node) {
  const auto slot = std::make_unique<sim::Slot>();
  node.machine().store().Snapshot(slot.get());
  Facts facts;
  for (const sim::Holder& holder : slot->holders) {
    if (holder.live == 0) continue;
    const sim::Gpu& gpu = slot->gpus[holder.gpu];
    facts.insert(facts.end(), {holder.gpu, gpu.mig_current});
    if (holder.gpu_instance == sim::kNone) continue;
    const sim::GpuInstance& instance = gpu.instances[holder.gpu_instance];
    facts.insert(facts.end(), {instance.live, instance.incarnation,
                               instance.compute[holder.compute_instance].live});
  }
  return facts;
}

// The modes and the place of every instance, of all GPUs.
Facts Layout(NodeUnderChange& node) {
  const auto slot = std::make_unique<sim::Slot>();
  node.machine().store().Snapshot(slot.get());
  Facts facts;
  for (std::uint32_t gpu = 0; gpu < node.machine().machine().gpu_count; ++gpu) {
    const sim::Gpu& state = slot->gpus[gpu];
    std::set<Facts> instances;
    for (const sim::GpuInstance& instance : state.instances) {
      if (instance.live == 0) continue;
      Facts one = {instance.profile, instance.start};
      for (const sim::ComputeInstance& compute : instance.compute) {
        if (compute.live != 0) one.insert(one.end(), {compute.profile, compute.start});
      }
      instances.insert(one);
    }
    facts.insert(facts.end(), {gpu, state.mig_current, state.mig_pending});
    for (const Facts& one : instances) facts.insert(facts.end(), one.begin(), one.end());
  }
  return facts;
}

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

class KillTest : public ::testing::TestWithParam<Case> {};

TEST_P(KillTest, AtEveryCallIsHealedByTheNextApply) {
  const Case& test = GetParam();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  NodeUnderChange node(test.node);
  if (*test.first != '\0') {
    const auto first = node.Apply(test.first);
    ASSERT_TRUE(first.ok() && first->applied);
  }
  for (const Used& used : test.used) {
    node.Use(used.gpu,
             used.start ? std::optional(node.InstanceAt(used.gpu, *used.start)) : std::nullopt);
  }
  const Facts in_use = InUse(node);
  ASSERT_EQ(in_use.empty(), test.used.empty());
  const auto before = std::make_unique<sim::Slot>();
  node.machine().store().Snapshot(before.get());

  const ApplyProgram apply(node, test.wanted);
  const std::vector<Call> calls = apply.Calls();
  ASSERT_GT(calls.size(), 50U);
  for (std::uint32_t gpu = 0; gpu < test.layouts.size(); ++gpu) {
    ASSERT_EQ(node.Layout(gpu), test.layouts[gpu]);
  }
  const Facts wanted = Layout(node);
  const std::vector<Call> chosen = Chosen(calls);
  for (const Call& call : chosen) {
    SCOPED_TRACE("killed in " + call.ToString());
    node.machine().Change([&](const sim::Machine&, sim::Slot& slot) { slot = *before; });
    ASSERT_TRUE(apply.KillIn(call));
    ASSERT_EQ(InUse(node), in_use);
    ASSERT_EQ(apply.Run(), 0) << apply.Said();
    ASSERT_EQ(InUse(node), in_use);
    ASSERT_EQ(Layout(node), wanted);
  }
  fmt::print("killed in {} of {} calls\n", chosen.size(), calls.size());
}

std::string NameOf(const ::testing::TestParamInfo<Case>& test) { return test.param.name; }

const std::vector<Case>& OneGpu() {
  static const std::vector<Case> cases = {
      {"HopperFromOff",
       "h200-vm",
       "",
       {},
       "  - {devices: all, mig-enabled: true, mig-devices: {3g: 1, 1g: 2}}\n",
       {"MIG on: 1g.18gb@0, 1g.18gb@1, 3g.71gb@4"}},
      {"HopperWithABusySlice",
       "h200-vm",
       "  - {devices: all, mig-enabled: true, mig-devices: {3g: 2}}\n",
       {{0, 4}},
       "  - {devices: all, mig-enabled: true, mig-devices: {3g: 1, 1g: 2, 2g: 1}}\n",
       {"MIG on: 2g.35gb@0, 1g.18gb@2, 1g.18gb@3, 3g.71gb@4"}}};
  return cases;
}

// Through resets: the tool's calls are among those that are counted.
const std::vector<Case>& SeveralGpus() {
  static const std::vector<Case> cases = {
      {"AmpereOnAndKept",
       PARTITA_TEST_NODES "/three-a100.yaml",
       "  - {devices: [1], mig-enabled: true, mig-devices: {3g: 2}}\n",
       {{1, 4}, {2, {}}},
       "  - {devices: [0], mig-enabled: true, mig-devices: {4g: 1, 3g: 1}}\n"
       "  - {devices: [1], mig-enabled: true, mig-devices: {3g: 1, 2g: 1}}\n"
       "  - {devices: [2], mig-enabled: false}\n",
       {"MIG on: 4g.20gb@0, 3g.20gb@4", "MIG on: 2g.10gb@0, 3g.20gb@4", "MIG off"}},
      {"AmpereOffAndKept",
       PARTITA_TEST_NODES "/three-a100.yaml",
       "  - {devices: all, mig-enabled: true, mig-devices: {4g: 1, 3g: 1}}\n",
       {{1, 0}, {2, 4}},
       "  - {devices: [0], mig-enabled: false}\n"
       "  - {devices: [1], mig-enabled: true, mig-devices: {4g: 1, 1g: 1}}\n",
       {"MIG off", "MIG on: 4g.20gb@0, 1g.5gb@6", "MIG on: 4g.20gb@0, 3g.20gb@4"}}};
  return cases;
}

// A whole DGX: all of it takes minutes, so `make soak` runs it.
const std::vector<Case>& EightGpus() {
  static const std::vector<Case> cases = {
      {"DgxMixed",
       "dgx-a100-40",
       "  - {devices: [2, 3], mig-enabled: true, mig-devices: {3g: 2}}\n"
       "  - {devices: [4], mig-enabled: true, mig-devices: {1g: 7}}\n",
       {{2, 4}, {4, 3}, {5, {}}},
       "  - {devices: [0, 1], mig-enabled: true, mig-devices: {4g: 1, 3g: 1}}\n"
       "  - {devices: [2], mig-enabled: true, mig-devices: {3g: 1, 2g: 1}}\n"
       "  - {devices: [3], mig-enabled: false}\n"
       "  - {devices: [4], mig-enabled: true, mig-devices: {1g: 1, 2g: 1}}\n"
       "  - {devices: [5, 6, 7], mig-enabled: false}\n",
       {"MIG on: 4g.20gb@0, 3g.20gb@4", "MIG on: 4g.20gb@0, 3g.20gb@4",
        "MIG on: 2g.10gb@0, 3g.20gb@4", "MIG off", "MIG on: 2g.10gb@0, 1g.5gb@3", "MIG off",
        "MIG off", "MIG off"}}};
  return cases;
}

INSTANTIATE_TEST_SUITE_P(OneGpu, KillTest, ::testing::ValuesIn(OneGpu()), NameOf);
INSTANTIATE_TEST_SUITE_P(SeveralGpus, KillTest, ::testing::ValuesIn(SeveralGpus()), NameOf);
INSTANTIATE_TEST_SUITE_P(EightGpus, KillTest, ::testing::ValuesIn(EightGpus()), NameOf);

}  // namespace
}  // namespace partita::integration
