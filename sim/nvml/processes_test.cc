#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/test_node.h"
#include "sim/state/holders.h"
#include "sim/state/mig.h"
#include "sim/state/test_node.h"

namespace partita::sim::nvml {
namespace {

constexpr uint64_t kGibibyte = uint64_t{1} << 30;
constexpr uint64_t kNsPerSecond = 1'000'000'000;

Holder OnGpu(uint32_t gpu, HolderKind kind = HolderKind::kCompute) {
  Holder holder{};
  holder.kind = kind;
  holder.gpu = gpu;
  holder.gpu_instance = holder.compute_instance = kNone;
  holder.utilization = 50;
  holder.memory_utilization = 20;
  holder.memory_bytes = kGibibyte;
  return holder;
}

// A real process that holds a GPU until it is ended.
class Worker {
 public:
  Worker(TestNode& node, const Holder& holder) {
    int ready[2] = {-1, -1};
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      int fd = -1;
      const int error = HoldAsSelf(node.store(), node.holders_path().c_str(), holder, &fd);
      const char answer = static_cast<char>(error);
      if (write(ready[1], &answer, 1) != 1) _exit(1);
      for (;;) pause();
    }
    char answer = 1;
    EXPECT_EQ(read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 0);
    close(ready[0]);
    close(ready[1]);
  }
  ~Worker() { End(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void End() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  unsigned int pid() const { return static_cast<unsigned int>(pid_); }

 private:
  pid_t pid_ = -1;
};

// A process that is number 1 of a PID namespace of its own, as in a container. `other` runs outside
// of it, with its number there, and is told what `body` answered; then it ends. 77: not allowed.
int InContainer(const std::function<char()>& body, const std::function<int(pid_t, char)>& other) {
  return StatusOf(InChild([&] {
    int ready[2] = {-1, -1};
    if (pipe(ready) != 0 || unshare(CLONE_NEWPID) != 0) return 77;
    const pid_t contained = InChild([&] {
      const char answer = body();
      if (write(ready[1], &answer, 1) != 1) return 1;
      for (;;) pause();
    });
    char answer = 1;
    const int code = read(ready[0], &answer, 1) == 1 ? other(contained, answer) : 76;
    kill(contained, SIGKILL);
    waitpid(contained, nullptr, 0);
    return code;
  }));
}
#define SKIP_WITHOUT_PID_NAMESPACE(status) \
  if ((status) == 77) GTEST_SKIP() << "no right to make a PID namespace: run as root"

std::vector<nvmlProcessInfo_t> Listed(
    nvmlReturn_t (*call)(nvmlDevice_t, unsigned int*, nvmlProcessInfo_t*), nvmlDevice_t device) {
  nvmlProcessInfo_t entries[kMaxHolders];
  unsigned int count = kMaxHolders;
  EXPECT_EQ(call(device, &count, entries), NVML_SUCCESS);
  return {entries, entries + count};
}

TEST(Processes, AreListedWithTheirPidAndMemoryWhileTheyLive) {
  TestNode node("dgx-a100-40");
  Worker worker(node, OnGpu(1));
  const auto listed = Listed(nvmlDeviceGetComputeRunningProcesses_v3, node.gpu(1));
  ASSERT_EQ(listed.size(), 1);
  EXPECT_EQ(listed[0].pid, worker.pid());
  EXPECT_EQ(listed[0].usedGpuMemory, kGibibyte);
  EXPECT_EQ(listed[0].gpuInstanceId, 0xFFFFFFFF);
  EXPECT_EQ(listed[0].computeInstanceId, 0xFFFFFFFF);
  EXPECT_TRUE(Listed(nvmlDeviceGetComputeRunningProcesses_v3, node.gpu(0)).empty());
  EXPECT_TRUE(Listed(nvmlDeviceGetGraphicsRunningProcesses_v3, node.gpu(1)).empty());
  worker.End();
  EXPECT_TRUE(Listed(nvmlDeviceGetComputeRunningProcesses_v3, node.gpu(1)).empty());
}

TEST(Processes, OutsideOfTheReadersContainerShowOnlyInMemory) {
  TestNode node("h200-vm");
  nvmlMemory_t before{};
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(node.gpu(), &before), NVML_SUCCESS);
  Worker worker(node, OnGpu(0));
  const auto read = [&]() -> char {
    if (nvmlInit_v2() != NVML_SUCCESS) return 1;
    nvmlProcessInfo_t entries[4];
    for (const auto call :
         {nvmlDeviceGetComputeRunningProcesses_v3, nvmlDeviceGetGraphicsRunningProcesses_v3}) {
      unsigned int count = 4;
      if (call(node.gpu(), &count, entries) != NVML_SUCCESS || count != 0) return 2;
    }
    nvmlMemory_t now{};
    if (nvmlDeviceGetMemoryInfo(node.gpu(), &now) != NVML_SUCCESS) return 3;
    return now.used - before.used == kGibibyte ? 0 : 4;
  };
  const int status = InContainer(read, [](pid_t, char answer) { return answer; });
  SKIP_WITHOUT_PID_NAMESPACE(status);
  EXPECT_EQ(status, 0);
}

TEST(Processes, InAContainerHaveANumberInsideAndOneOutside) {
  TestNode node("h200-vm");
  const auto is_listed_as = [&node](pid_t pid) {
    if (nvmlInit_v2() != NVML_SUCCESS) return false;
    nvmlProcessInfo_t entries[4];
    unsigned int count = 4;
    return nvmlDeviceGetComputeRunningProcesses_v3(node.gpu(), &count, entries) == NVML_SUCCESS &&
           count == 1 && entries[0].pid == static_cast<unsigned int>(pid) &&
           entries[0].usedGpuMemory == kGibibyte;
  };
  const auto hold = [&]() -> char {
    int fd = -1;
    if (HoldAsSelf(node.store(), node.holders_path().c_str(), OnGpu(0), &fd) != 0) return 1;
    return getpid() == 1 && is_listed_as(1) ? 0 : 2;
  };
  const int status = InContainer(hold, [&](pid_t outside, char answer) {
    if (answer != 0) return static_cast<int>(answer);
    return outside != 1 && is_listed_as(outside) ? 0 : 3;
  });
  SKIP_WITHOUT_PID_NAMESPACE(status);
  EXPECT_EQ(status, 0);
}

TEST(Processes, UnderMpsAreListedTwice) {
  TestNode node("h200-vm");
  Worker worker(node, OnGpu(0, HolderKind::kMps));
  EXPECT_EQ(Listed(nvmlDeviceGetMPSComputeRunningProcesses_v3, node.gpu()).size(), 1);
  EXPECT_EQ(Listed(nvmlDeviceGetComputeRunningProcesses_v3, node.gpu()).size(), 1);
  EXPECT_EQ(Listed(nvmlDeviceGetGraphicsRunningProcesses_v3, node.gpu()).size(), 0);
}

TEST(Processes, SayHowMuchRoomTheyNeed) {
  TestNode node("h200-vm");
  Worker first(node, OnGpu(0)), second(node, OnGpu(0));
  unsigned int count = 0;
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(node.gpu(), &count, nullptr),
            NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 2);
  nvmlProcessInfo_t entries[4];
  std::memset(static_cast<void*>(entries), 0xA5, sizeof entries);
  count = 1;
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(node.gpu(), &count, entries),
            NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(entries[1].pid, 0xA5A5A5A5) << "beyond the capacity";
  count = 4;
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(node.gpu(), &count, nullptr),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(node.gpu(), &count, entries), NVML_SUCCESS);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(entries[2].pid, 0xA5A5A5A5);
}

TEST(Processes, OfVersion1Take16Bytes) {
  TestNode node("h200-vm");
  Worker first(node, OnGpu(0)), second(node, OnGpu(0));
  nvmlProcessInfo_v1_t entries[3];
  std::memset(static_cast<void*>(entries), 0xA5, sizeof entries);
  unsigned int count = 2;
  ASSERT_EQ(nvmlDeviceGetComputeRunningProcesses(node.gpu(), &count, entries), NVML_SUCCESS);
  EXPECT_EQ(entries[0].pid, first.pid());
  EXPECT_EQ(entries[1].pid, second.pid());
  EXPECT_EQ(entries[2].pid, 0xA5A5A5A5);
}

TEST(Processes, InDetailCanBeAskedForByKind) {
  TestNode node("h200-vm");
  Worker compute(node, OnGpu(0)), graphics(node, OnGpu(0, HolderKind::kGraphics));
  nvmlProcessDetail_v1_t entries[4];
  const auto ask = [&](unsigned int mode) {
    nvmlProcessDetailList_v1_t list = {nvmlProcessDetailList_v1, mode, 4, entries};
    EXPECT_EQ(nvmlDeviceGetRunningProcessDetailList(node.gpu(), &list), NVML_SUCCESS);
    return list.numProcArrayEntries;
  };
  EXPECT_EQ(ask(NVML_PROCESS_MODE_COMPUTE), 1);
  EXPECT_EQ(entries[0].pid, compute.pid());
  EXPECT_EQ(entries[0].usedGpuCcProtectedMemory, 0);
  EXPECT_EQ(ask(NVML_PROCESS_MODE_GRAPHICS), 1);
  EXPECT_EQ(entries[0].pid, graphics.pid());
  EXPECT_EQ(ask(NVML_PROCESS_MODE_MPS), 0);
  EXPECT_EQ(ask(NVML_PROCESS_MODE_ALL), 2);
}

TEST(Processes, OnAnInstanceAreSeenThereAndOnItsGpu) {
  TestNode node("hgx-h200");
  uint32_t gi[2] = {};
  node.Change([&](Slot& slot) {
    const Board& board = node.machine().boards[0];
    Gpu& gpu = slot.gpus[0];
    gpu.mig_current = gpu.mig_pending = 1;
    const GiProfile& profile = *FindGiProfileById(board, 9);
    for (uint32_t& id : gi) {
      uint32_t ci = 0;
      ASSERT_EQ(CreateGpuInstance(board, gpu, profile, kNone, slot.next_incarnation++, &id),
                MigStatus::kDone);
      ASSERT_EQ(
          CreateComputeInstance(board, gpu.instances[id], *FindCiProfile(board, 2, 2), kNone, &ci),
          MigStatus::kDone);
    }
  });
  Holder holder = OnGpu(0);
  holder.gpu_instance = gi[1];
  holder.compute_instance = 0;
  Worker worker(node, holder);
  nvmlDevice_t device[2] = {};
  for (int i = 0; i < 2; ++i) {
    char uuid[kUuidSize];
    NameMigDevice(node.machine().boards[0], gi[i], 0, uuid);
    ASSERT_EQ(nvmlDeviceGetHandleByUUID(uuid, &device[i]), NVML_SUCCESS);
  }
  const auto parent = Listed(nvmlDeviceGetComputeRunningProcesses_v3, node.gpu());
  ASSERT_EQ(parent.size(), 1);
  EXPECT_EQ(parent[0].gpuInstanceId, gi[1]);
  EXPECT_EQ(parent[0].computeInstanceId, 0);
  EXPECT_EQ(Listed(nvmlDeviceGetComputeRunningProcesses_v3, device[0]).size(), 0);
  EXPECT_EQ(Listed(nvmlDeviceGetComputeRunningProcesses_v3, device[1]).size(), 1);
  nvmlMemory_t used{}, idle{};
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(device[1], &used), NVML_SUCCESS);
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(device[0], &idle), NVML_SUCCESS);
  EXPECT_EQ(used.used - idle.used, kGibibyte);
}

TEST(Load, ShowsInMemoryUtilizationPowerAndClocks) {
  TestNode node("h200-vm");
  node.FreezeAt(1000 * kNsPerSecond);
  nvmlMemory_t before{}, after{};
  unsigned int idle_power = 0, power = 0, idle_clock = 0, clock = 0;
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(node.gpu(), &before), NVML_SUCCESS);
  ASSERT_EQ(nvmlDeviceGetPowerUsage(node.gpu(), &idle_power), NVML_SUCCESS);
  ASSERT_EQ(nvmlDeviceGetClockInfo(node.gpu(), NVML_CLOCK_SM, &idle_clock), NVML_SUCCESS);
  Worker worker(node, OnGpu(0));
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(node.gpu(), &after), NVML_SUCCESS);
  EXPECT_EQ(after.used - before.used, kGibibyte);
  nvmlUtilization_t rates{};
  ASSERT_EQ(nvmlDeviceGetUtilizationRates(node.gpu(), &rates), NVML_SUCCESS);
  EXPECT_EQ(rates.gpu, 50);
  EXPECT_EQ(rates.memory, 20);
  ASSERT_EQ(nvmlDeviceGetPowerUsage(node.gpu(), &power), NVML_SUCCESS);
  ASSERT_EQ(nvmlDeviceGetClockInfo(node.gpu(), NVML_CLOCK_SM, &clock), NVML_SUCCESS);
  EXPECT_GT(power, idle_power + 100'000);
  EXPECT_GT(clock, idle_clock);
}

TEST(Load, ReadsTheSameTwiceWhileTheClockStands) {
  TestNode node("h200-vm");
  node.FreezeAt(123'456'789'000);
  Worker worker(node, OnGpu(0));
  for (int i = 0; i < 3; ++i) {
    unsigned int power[2] = {}, heat[2] = {};
    unsigned long long energy[2] = {};
    for (int j = 0; j < 2; ++j) {
      ASSERT_EQ(nvmlDeviceGetPowerUsage(node.gpu(), &power[j]), NVML_SUCCESS);
      ASSERT_EQ(nvmlDeviceGetTemperature(node.gpu(), 0, &heat[j]), NVML_SUCCESS);
      ASSERT_EQ(nvmlDeviceGetTotalEnergyConsumption(node.gpu(), &energy[j]), NVML_SUCCESS);
    }
    EXPECT_EQ(power[0], power[1]);
    EXPECT_EQ(heat[0], heat[1]);
    EXPECT_EQ(energy[0], energy[1]);
    node.FreezeAt((200 + static_cast<uint64_t>(i) * 10) * kNsPerSecond);
  }
}

TEST(Energy, NeverGoesBackWhenProcessesComeAndGo) {
  TestNode node("h200-vm");
  const uint64_t start = node.store().Read([](const Slot& slot) { return slot.driver_loaded_ns; });
  uint64_t now = start + 10 * kNsPerSecond;
  unsigned long long last = 0;
  const auto rises = [&] {
    unsigned long long energy = 0;
    EXPECT_EQ(nvmlDeviceGetTotalEnergyConsumption(node.gpu(), &energy), NVML_SUCCESS);
    EXPECT_GE(energy, last);
    last = energy;
  };
  for (int round = 0; round < 3; ++round) {
    node.FreezeAt(now += 10 * kNsPerSecond);
    rises();
    Worker worker(node, OnGpu(0));
    node.FreezeAt(now += 10 * kNsPerSecond);
    rises();
    worker.End();
    if (round == 0) node.Change([&](Slot& s) { Reap(node.root().c_str(), node.machine(), s); });
    rises();
    rises();
  }
  // 70 s idle at 76.578 W, and 30 s of half a load of 409 W beyond that.
  EXPECT_NEAR(static_cast<double>(last), 70 * 76'578 + 30 * 0.5 * (485'885 - 76'578), 100);
}

TEST(Energy, IsNotDrawnByTheDead) {
  TestNode node("h200-vm");
  const uint64_t start = node.store().Read([](const Slot& slot) { return slot.driver_loaded_ns; });
  node.FreezeAt(start);
  Worker worker(node, OnGpu(0));
  worker.End();
  unsigned long long energy = 0;
  ASSERT_EQ(nvmlDeviceGetTotalEnergyConsumption(node.gpu(), &energy), NVML_SUCCESS);
  EXPECT_EQ(energy, 0);
  node.FreezeAt(start + 100 * kNsPerSecond);
  ASSERT_EQ(nvmlDeviceGetTotalEnergyConsumption(node.gpu(), &energy), NVML_SUCCESS);
  EXPECT_EQ(energy, 100 * 76'578);
}

TEST(Modes, AreSetByRootAndSeenByAll) {
  TestNode node("h200-vm");
  const nvmlReturn_t allowed = geteuid() == 0 ? NVML_SUCCESS : NVML_ERROR_NO_PERMISSION;
  EXPECT_EQ(nvmlDeviceSetPersistenceMode(node.gpu(), 0), allowed);
  EXPECT_EQ(nvmlDeviceSetComputeMode(node.gpu(), NVML_COMPUTEMODE_EXCLUSIVE_PROCESS), allowed);
  const Gpu gpu = node.store().Read([](const Slot& slot) { return slot.gpus[0]; });
  EXPECT_EQ(gpu.persistence_mode, allowed == NVML_SUCCESS ? 0 : 1);
  EXPECT_EQ(gpu.compute_mode, allowed == NVML_SUCCESS ? NVML_COMPUTEMODE_EXCLUSIVE_PROCESS : 0);
  EXPECT_EQ(nvmlDeviceSetPersistenceMode(node.gpu(), 2), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceSetComputeMode(node.gpu(), 4), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceSetComputeMode(node.gpu(), 1), NVML_ERROR_NOT_SUPPORTED);
}

TEST(Modes, ExclusiveProcessAndMigExcludeEachOther) {
  TestNode node("h200-vm");
  node.Change([](Slot& slot) { slot.gpus[0].mig_current = 1; });
  EXPECT_EQ(nvmlDeviceSetComputeMode(node.gpu(), NVML_COMPUTEMODE_EXCLUSIVE_PROCESS),
            NVML_ERROR_NOT_SUPPORTED);
}

TEST(UnknownFacts, AreNotSupported) {
  TestNode node("mixed");
  for (uint32_t i = 0; i < node.machine().gpu_count; ++i) {
    const Board& board = node.machine().boards[i];
    nvmlDeviceAddressingMode_v1_t mode = {nvmlDeviceAddressingMode_v1, 0};
    EXPECT_EQ(nvmlDeviceGetAddressingMode(node.gpu(i), &mode),
              board.addressing_mode.known != 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
    unsigned int rows[4] = {};
    EXPECT_EQ(nvmlDeviceGetRemappedRows(node.gpu(i), &rows[0], &rows[1], &rows[2], &rows[3]),
              board.row_remap_max_banks.known != 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
  }
}

}  // namespace
}  // namespace partita::sim::nvml
