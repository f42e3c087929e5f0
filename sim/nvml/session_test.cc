#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/test_node.h"
#include "sim/state/life.h"
#include "sim/state/test_node.h"

extern "C" nvmlReturn_t nvmlDeviceGetCoolerInfo(void);  // exported, not simulated

namespace partita::sim::nvml {
namespace {

unsigned int Count() {
  unsigned int count = 99;
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
  return count;
}

void AddFault(TestNode& node, const CallFault& fault) {
  node.Change([&](Slot& slot) {
    for (CallFault& free : slot.call_faults) {
      if (free.live != 0) continue;
      free = fault;
      free.live = 1;
      free.id = ++slot.next_fault_id;
      return;
    }
  });
}

CallFault Fault(CallFaultKind kind, const char* function, uint32_t gpu = kNone) {
  CallFault fault{};
  fault.kind = kind;
  snprintf(fault.function, sizeof fault.function, "%s", function);
  fault.gpu = gpu;
  return fault;
}

TEST(Session, CountsItsReferences) {
  TestNode node("h200-vm");
  unsigned int count = 0;
  EXPECT_EQ(nvmlInit(), NVML_SUCCESS);
  EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
  EXPECT_EQ(Count(), 1U);
  EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlInitWithFlags(99), NVML_SUCCESS);
}

TEST(Session, TextsAreTheDrivers) {
  EXPECT_STREQ(nvmlErrorString(NVML_SUCCESS), "Success");
  EXPECT_STREQ(nvmlErrorString(NVML_ERROR_LIB_RM_VERSION_MISMATCH),
               "Driver/library version mismatch");
  EXPECT_STREQ(nvmlErrorString(NVML_ERROR_RESET_TYPE_NOT_SUPPORTED),
               "Reset type is not supported for given device");
  EXPECT_STREQ(nvmlErrorString(NVML_ERROR_UNKNOWN), "Unknown Error");
  EXPECT_STREQ(nvmlErrorString(static_cast<nvmlReturn_t>(500)), "Unknown Error");
}

TEST(Session, InitSaysWhyThereIsNoDriver) {
  TestNode node("h200-vm");
  nvmlShutdown();
  node.Change([&](Slot& slot) { UnloadDriver(node.machine(), slot); });
  EXPECT_EQ(nvmlInit_v2(), NVML_ERROR_DRIVER_NOT_LOADED);
  node.Change([&](Slot& slot) {
    LoadDriver(node.machine(), slot);
    slot.version_mismatch = 1;
  });
  EXPECT_EQ(nvmlInit_v2(), NVML_ERROR_LIB_RM_VERSION_MISMATCH);
  node.Change([](Slot& slot) { slot.version_mismatch = 0; });
  const std::string state = getenv("PARTITA_SIM_STATE");
  setenv("PARTITA_SIM_STATE", (node.root() + "/sim/none").c_str(), 1);
  EXPECT_EQ(nvmlInit_v2(), NVML_ERROR_DRIVER_NOT_LOADED);
  std::ofstream(node.root() + "/sim/other") << "no state";
  setenv("PARTITA_SIM_STATE", (node.root() + "/sim/other").c_str(), 1);
  EXPECT_EQ(nvmlInit_v2(), NVML_ERROR_LIB_RM_VERSION_MISMATCH);
  setenv("PARTITA_SIM_STATE", state.c_str(), 1);
  EXPECT_EQ(nvmlInit_v2(), NVML_SUCCESS);
}

TEST(Session, WithoutAttachThereAreNoGpus) {
  TestNode node("dgx-a100-40");
  nvmlShutdown();
  ASSERT_EQ(nvmlInitWithFlags(NVML_INIT_FLAG_NO_ATTACH), NVML_SUCCESS);
  nvmlDevice_t device = nullptr;
  EXPECT_EQ(Count(), 0U);
  EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetHandleByUUID(node.machine().boards[0].uuid, &device),
            NVML_ERROR_NOT_FOUND);
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);  // a later init attaches
  EXPECT_EQ(Count(), 8U);
  nvmlShutdown();
}

TEST(Session, ListsOnlyGpusOfTheNvidiaDriver) {
  TestNode node("dgx-a100-40");
  const nvmlDevice_t third = node.gpu(2);
  node.Change([](Slot& slot) { slot.gpus[1].pci_driver = PciDriver::kVfio; });
  nvmlShutdown();
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  EXPECT_EQ(Count(), 7U);
  nvmlDevice_t device = nullptr;
  ASSERT_EQ(nvmlDeviceGetHandleByIndex_v2(1, &device), NVML_SUCCESS);
  EXPECT_EQ(device, third);  // the handle is the board's, the index a position
  unsigned int index = 9;
  EXPECT_EQ(nvmlDeviceGetIndex(third, &index), NVML_SUCCESS);
  EXPECT_EQ(index, 1U);
}

TEST(Session, ADriverReloadCutsItsClientsOff) {
  TestNode node("h200-vm");
  const nvmlDevice_t gpu = node.gpu();
  node.Change([&](Slot& slot) { ReloadDriver(node.machine(), slot); });
  unsigned int value = 0;
  EXPECT_EQ(nvmlDeviceGetCount_v2(&value), NVML_ERROR_UNKNOWN);
  EXPECT_EQ(nvmlDeviceGetMinorNumber(gpu, &value), NVML_ERROR_UNKNOWN);
  EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
  EXPECT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetMinorNumber(gpu, &value), NVML_SUCCESS);
}

TEST(Session, AChildOfForkIsUninitialised) {
  TestNode node("h200-vm");
  const nvmlDevice_t gpu = node.gpu();
  const pid_t child = InChild([&] {
    unsigned int value = 0;
    if (nvmlDeviceGetMinorNumber(gpu, &value) != NVML_ERROR_UNINITIALIZED) return 1;
    if (nvmlShutdown() != NVML_ERROR_UNINITIALIZED) return 2;
    if (nvmlInit_v2() != NVML_SUCCESS) return 3;
    if (nvmlDeviceGetMinorNumber(gpu, &value) != NVML_SUCCESS) return 4;
    return nvmlShutdown() == NVML_SUCCESS ? 0 : 5;
  });
  EXPECT_EQ(StatusOf(child), 0);
  EXPECT_EQ(Count(), 1U);
}

TEST(Session, HandlesOutliveShutdown) {
  TestNode node("dgx-a100-40");
  const nvmlDevice_t gpu = node.gpu(5);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(nvmlShutdown(), NVML_SUCCESS);
    ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
    ASSERT_EQ(node.gpu(5), gpu);
  }
}

TEST(Session, GarbageHandlesAreArguments) {
  TestNode node("h200-vm");
  unsigned int value = 0;
  const auto address = reinterpret_cast<uintptr_t>(node.gpu());
  for (const uintptr_t garbage : {uintptr_t{0}, uintptr_t{1}, address + 1, address + 16,
                                  ~uintptr_t{0}, reinterpret_cast<uintptr_t>(&value)}) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): no object gives such a handle.
    const auto handle = reinterpret_cast<nvmlDevice_t>(garbage);
    EXPECT_EQ(nvmlDeviceGetMinorNumber(handle, &value), NVML_ERROR_INVALID_ARGUMENT) << garbage;
  }
}

TEST(Session, ALostGpuAnswersNothingElse) {
  TestNode node("dgx-a100-40");
  const nvmlDevice_t lost = node.gpu(4), other = node.gpu(3);
  node.Change([](Slot& slot) { LoseGpu(slot, 4); });
  unsigned int value = 0;
  nvmlDevice_t device = nullptr;
  EXPECT_EQ(nvmlDeviceGetMinorNumber(lost, &value), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(4, &device), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(nvmlDeviceGetMinorNumber(other, &value), NVML_SUCCESS);
  EXPECT_EQ(Count(), 8U);
}

TEST(CallFaults, FailTheCallOnTheGpuSoManyTimes) {
  TestNode node("dgx-a100-40");
  CallFault fault = Fault(CallFaultKind::kFail, "nvmlDeviceGetMinorNumber", 1);
  fault.code = NVML_ERROR_RESET_REQUIRED;
  fault.remaining = 2;
  AddFault(node, fault);
  unsigned int value = 0;
  EXPECT_EQ(nvmlDeviceGetMinorNumber(node.gpu(0), &value), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetMinorNumber(node.gpu(1), &value), NVML_ERROR_RESET_REQUIRED);
  EXPECT_EQ(nvmlDeviceGetMinorNumber(node.gpu(1), &value), NVML_ERROR_RESET_REQUIRED);
  EXPECT_EQ(nvmlDeviceGetMinorNumber(node.gpu(1), &value), NVML_SUCCESS);
}

TEST(CallFaults, ANameCatchesEveryVersionOfTheCall) {
  TestNode node("h200-vm");
  CallFault fault = Fault(CallFaultKind::kFail, "nvmlDeviceGetCount");
  fault.code = NVML_ERROR_TIMEOUT;
  AddFault(node, fault);
  unsigned int value = 0;
  EXPECT_EQ(nvmlDeviceGetCount(&value), NVML_ERROR_TIMEOUT);
  EXPECT_EQ(nvmlDeviceGetCount_v2(&value), NVML_ERROR_TIMEOUT);
}

TEST(CallFaults, AStarCatchesAllButShutdown) {
  TestNode node("h200-vm");
  const nvmlDevice_t gpu = node.gpu();
  CallFault fault = Fault(CallFaultKind::kFail, "*");
  fault.code = NVML_ERROR_OPERATING_SYSTEM;
  AddFault(node, fault);
  unsigned int value = 0;
  EXPECT_EQ(nvmlDeviceGetMinorNumber(gpu, &value), NVML_ERROR_OPERATING_SYSTEM);
  EXPECT_EQ(nvmlInit_v2(), NVML_ERROR_OPERATING_SYSTEM);
  EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
  node.Change([](Slot& slot) { slot.call_faults[0].live = 0; });
  EXPECT_EQ(nvmlInit_v2(), NVML_SUCCESS);
}

TEST(CallFaults, AHangingCallGoesOnWhenTheFaultIsCleared) {
  TestNode node("h200-vm");
  const nvmlDevice_t gpu = node.gpu();
  CallFault fault = Fault(CallFaultKind::kHang, "nvmlDeviceGetMinorNumber");
  fault.remaining = 1;
  AddFault(node, fault);
  std::atomic<bool> returned = false;
  nvmlReturn_t code = NVML_ERROR_UNKNOWN;
  std::thread hanging([&] {
    unsigned int value = 0;
    code = nvmlDeviceGetMinorNumber(gpu, &value);
    returned = true;
  });
  // The hang is spent once the thread is in it; from then on other callers pass.
  const auto live = [&node] {
    return node.store().Read([](const Slot& slot) { return slot.call_faults[0].live; });
  };
  // Far above what it takes: only for what never comes.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (live() != 2 && std::chrono::steady_clock::now() < limit) {
    node.store().WaitForChange(node.store().Wakeups(), 1'000'000);
  }
  EXPECT_EQ(live(), 2U) << "the call that shall hang was not made";
  unsigned int value = 0;
  EXPECT_EQ(nvmlDeviceGetMinorNumber(gpu, &value), NVML_SUCCESS);
  EXPECT_FALSE(returned);
  node.Change([](Slot& slot) { slot.call_faults[0].live = 0; });
  hanging.join();
  EXPECT_EQ(code, NVML_SUCCESS);
}

TEST(CallLog, OneLineACall) {
  TestNode node("dgx-a100-40");
  nvmlShutdown();
  const std::string path = node.root() + "/calls";
  setenv("PARTITA_SIM_CALLS", path.c_str(), 1);
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  unsigned int value = 0;
  nvmlDeviceGetMinorNumber(node.gpu(2), &value);
  nvmlShutdown();
  unsetenv("PARTITA_SIM_CALLS");
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  std::ifstream log(path);
  std::vector<std::string> calls;
  for (std::string line; std::getline(log, line);) {
    std::istringstream words(line);
    std::string pid, tid, call;
    words >> pid >> tid >> std::ws;
    std::getline(words, call);
    EXPECT_EQ(pid, std::to_string(getpid()));
    calls.push_back(call.substr(0, call.rfind(" us=")));
  }
  EXPECT_EQ(calls, (std::vector<std::string>{
                       "nvmlInit_v2 gpu=- rc=0", "nvmlDeviceGetHandleByIndex_v2 gpu=- rc=0",
                       "nvmlDeviceGetMinorNumber gpu=2 rc=0", "nvmlShutdown gpu=- rc=0"}));
}

TEST(Strict, UnsimulatedCallsCannotBeMissed) {
  TestNode node("h200-vm");
  EXPECT_EQ(nvmlDeviceGetCoolerInfo(), NVML_ERROR_NOT_SUPPORTED);
  nvmlShutdown();
  EXPECT_EQ(nvmlDeviceGetCoolerInfo(), NVML_ERROR_UNINITIALIZED);
  setenv("PARTITA_SIM_STRICT", "1", 1);
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  testing::internal::CaptureStderr();
  EXPECT_EQ(nvmlDeviceGetCoolerInfo(), NVML_ERROR_UNKNOWN);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("nvmlDeviceGetCoolerInfo"),
            std::string::npos);
  unsetenv("PARTITA_SIM_STRICT");
}

TEST(Session, ThreadsInitialiseCallAndShutDownTogether) {
  TestNode node("dgx-a100-40");
  const nvmlDevice_t gpu = node.gpu();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        unsigned int value = 9;
        EXPECT_EQ(nvmlInit_v2(), NVML_SUCCESS);
        EXPECT_EQ(nvmlDeviceGetMinorNumber(gpu, &value), NVML_SUCCESS);
        EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Count(), 8U);
}

}  // namespace
}  // namespace partita::sim::nvml
