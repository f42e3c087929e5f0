#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "sim/nvml/nvml_calls.h"
#include "sim/nvml/test_node.h"
#include "sim/state/life.h"
#include "sim/state/test_node.h"

namespace partita::sim::nvml {
namespace {

constexpr unsigned int kLong = 60'000;  // ms: never the reason that a test goes on

class Events : public testing::Test {
 protected:
  Events() : node_("h200-vm"), gpu_(node_.gpu()) {
    EXPECT_EQ(nvmlEventSetCreate(&set_), NVML_SUCCESS);
  }

  void Register(unsigned long long types = kEventXid) {
    ASSERT_EQ(nvmlDeviceRegisterEvents(gpu_, types, set_), NVML_SUCCESS);
  }
  void Xid(uint64_t xid, uint32_t gi = kNone, uint32_t ci = kNone) {
    node_.Change([&](Slot& slot) { AddXid(slot, 0, xid, gi, ci); });
  }
  nvmlReturn_t Wait(unsigned int ms = 0) { return nvmlEventSetWait_v2(set_, &event_, ms); }

  TestNode node_;
  nvmlDevice_t gpu_;
  nvmlEventSet_t set_ = nullptr;
  nvmlEventData_t event_{};
};

TEST_F(Events, ArriveInOrderOncePerSet) {
  Xid(1);  // before the registration: not ours
  Register();
  Xid(31);
  Xid(48, 3, 0);
  ASSERT_EQ(Wait(), NVML_SUCCESS);
  EXPECT_EQ(event_.device, gpu_);
  EXPECT_EQ(event_.eventType, kEventXid);
  EXPECT_EQ(event_.eventData, 31U);
  EXPECT_EQ(event_.gpuInstanceId, 0xFFFFFFFFU);
  EXPECT_EQ(event_.computeInstanceId, 0xFFFFFFFFU);
  ASSERT_EQ(Wait(), NVML_SUCCESS);
  EXPECT_EQ(event_.eventData, 48U);
  EXPECT_EQ(event_.gpuInstanceId, 3U);
  EXPECT_EQ(event_.computeInstanceId, 0U);
  EXPECT_EQ(Wait(), NVML_ERROR_TIMEOUT);
}

TEST_F(Events, OnlyRegisteredTypesFromTheRegistrationOn) {
  Register(kEventMigConfigChange);
  Xid(31);
  EXPECT_EQ(Wait(), NVML_ERROR_TIMEOUT);
  Xid(48);
  Register(kEventXid);  // does not bring the past
  EXPECT_EQ(Wait(), NVML_ERROR_TIMEOUT);
  Xid(63);
  ASSERT_EQ(Wait(), NVML_SUCCESS);
  EXPECT_EQ(event_.eventData, 63U);
}

TEST_F(Events, RefuseWhatTheBoardDoesNotHave) {
  EXPECT_EQ(nvmlDeviceRegisterEvents(gpu_, 0, set_), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceRegisterEvents(gpu_, kEventXid | 0x20, set_), NVML_ERROR_NOT_SUPPORTED);
  Xid(31);
  EXPECT_EQ(Wait(), NVML_ERROR_TIMEOUT);
  EXPECT_EQ(nvmlEventSetWait_v2(nullptr, &event_, 0), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlEventSetWait_v2(set_, nullptr, 0), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlEventSetFree(nullptr), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlEventSetCreate(nullptr), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Events, TheOldRecordHasNoInstances) {
  Register();
  Xid(31, 2, 1);
  memset(static_cast<void*>(&event_), 0x5A, sizeof event_);
  ASSERT_EQ(nvmlEventSetWait(set_, &event_, 0), NVML_SUCCESS);
  EXPECT_EQ(event_.eventData, 31U);
  EXPECT_EQ(event_.gpuInstanceId, 0x5A5A5A5AU);
}

TEST_F(Events, AnotherProcessWakesAWaiter) {
  Register();
  std::thread fault([&] {
    EXPECT_EQ(StatusOf(InChild([&] {
                Xid(79);
                return 0;
              })),
              0);
  });
  EXPECT_EQ(Wait(kLong), NVML_SUCCESS);
  EXPECT_EQ(event_.eventData, 79U);
  fault.join();
}

// A thread inside a call, which the test knows to sleep there.
class Caller {
 public:
  explicit Caller(std::function<nvmlReturn_t()> call)
      : thread_([this, call = std::move(call)] {
          tid_ = static_cast<int>(syscall(SYS_gettid));
          code_ = call();
          back_ = true;
        }) {}
  ~Caller() {
    if (thread_.joinable()) thread_.join();
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  void AwaitSleep() const {
    for (char state = 'R'; state != 'S' && !back_;) {
      std::ifstream stat("/proc/self/task/" + std::to_string(tid_) + "/stat");
      std::string line;
      std::getline(stat, line);
      const std::size_t name_end = line.rfind(") ");
      if (name_end != std::string::npos) state = line[name_end + 2];
    }
  }
  [[nodiscard]] bool back() const { return back_; }
  nvmlReturn_t Join() {
    thread_.join();
    return code_;
  }

 private:
  std::atomic<int> tid_ = 0;
  std::atomic<bool> back_ = false;
  nvmlReturn_t code_ = NVML_ERROR_UNKNOWN;
  std::thread thread_;
};

TEST_F(Events, ASetIsFreedWhenNobodyWaitsInItAnyMore) {
  Register();
  Caller waiter([&] { return Wait(kLong); });
  waiter.AwaitSleep();
  Caller freeing([&] { return nvmlEventSetFree(set_); });
  freeing.AwaitSleep();
  EXPECT_FALSE(freeing.back());
  EXPECT_EQ(nvmlEventSetFree(set_), NVML_ERROR_INVALID_ARGUMENT);
  nvmlEventData_t none{};
  EXPECT_EQ(nvmlEventSetWait_v2(set_, &none, 0), NVML_ERROR_INVALID_ARGUMENT);
  Xid(31);
  EXPECT_EQ(waiter.Join(), NVML_SUCCESS);
  EXPECT_EQ(event_.eventData, 31U);
  EXPECT_EQ(freeing.Join(), NVML_SUCCESS);
  EXPECT_EQ(nvmlEventSetFree(set_), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Events, ShutdownComesBackWhenNobodyWaitsAnyMore) {
  Register();
  Caller waiter([&] { return Wait(kLong); });
  waiter.AwaitSleep();
  Caller ending([&] { return nvmlShutdown(); });
  ending.AwaitSleep();
  EXPECT_FALSE(ending.back());
  EXPECT_EQ(nvmlEventSetFree(set_), NVML_ERROR_UNINITIALIZED);
  Xid(31);
  EXPECT_EQ(waiter.Join(), NVML_SUCCESS);
  EXPECT_EQ(ending.Join(), NVML_SUCCESS);
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  EXPECT_EQ(Wait(), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Events, WhoeverWaitsIsToldThatItsTimeIsOver) {
  constexpr auto kShort = std::chrono::milliseconds(50);
  for (const auto& end : {std::function<nvmlReturn_t()>([&] { return nvmlEventSetFree(set_); }),
                          std::function<nvmlReturn_t()>([] { return nvmlShutdown(); })}) {
    ASSERT_EQ(nvmlEventSetCreate(&set_), NVML_SUCCESS);
    Register();
    const auto start = std::chrono::steady_clock::now();
    Caller waiter([&] { return Wait(static_cast<unsigned int>(kShort.count())); });
    waiter.AwaitSleep();
    EXPECT_EQ(end(), NVML_SUCCESS);
    EXPECT_GE(std::chrono::steady_clock::now() - start, kShort);
    EXPECT_EQ(waiter.Join(), NVML_ERROR_TIMEOUT);
  }
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
}

TEST_F(Events, SignalsDoNotShortenAWait) {
  Register();
  struct sigaction ignore {};
  ignore.sa_handler = [](int) {};
  sigaction(SIGALRM, &ignore, nullptr);
  const itimerval often = {{0, 2000}, {0, 2000}};
  const itimerval never = {};
  setitimer(ITIMER_REAL, &often, nullptr);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(Wait(50), NVML_ERROR_TIMEOUT);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50));
  setitimer(ITIMER_REAL, &never, nullptr);
}

TEST_F(Events, ALostGpuIsToldAfterItsEventAndAgainAfterEachWait) {
  Register();
  node_.Change([](Slot& slot) { LoseGpu(slot, 0); });
  ASSERT_EQ(Wait(kLong), NVML_SUCCESS);
  EXPECT_EQ(event_.eventData, 79U);
  EXPECT_EQ(Wait(kLong), NVML_ERROR_GPU_IS_LOST);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(Wait(20), NVML_ERROR_GPU_IS_LOST);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(20));
}

// The set is the library's own: a driver that went does not keep its nodes open.
TEST_F(Events, ASetIsFreedAlsoAfterTheDriverWasReplaced) {
  Register();
  node_.Change([&](Slot& slot) { ReloadDriver(node_.machine(), slot); });
  EXPECT_EQ(Wait(), NVML_ERROR_UNKNOWN);
  EXPECT_EQ(nvmlEventSetFree(set_), NVML_SUCCESS);
}

TEST_F(Events, WhatTheRingDroppedIsGone) {
  Register();
  for (uint64_t i = 0; i < kMaxEvents + 10; ++i) Xid(i);
  uint64_t count = 0, last = 0;
  while (Wait() == NVML_SUCCESS) {
    last = event_.eventData;
    ++count;
  }
  EXPECT_LE(count, kMaxEvents);
  EXPECT_GE(count, kMaxEvents - 1);
  EXPECT_EQ(last, kMaxEvents + 9);
}

TEST_F(Events, MigChangesAreToldEverywhere) {
  Register(kEventMigConfigChange);
  nvmlReturn_t activation = NVML_ERROR_UNKNOWN;
  nvmlGpuInstance_t instance = nullptr;
  ASSERT_EQ(nvmlDeviceSetMigMode(gpu_, 1, &activation), NVML_SUCCESS);
  ASSERT_EQ(nvmlDeviceCreateGpuInstance(gpu_, 19, &instance), NVML_SUCCESS);
  ASSERT_EQ(nvmlGpuInstanceDestroy(instance), NVML_SUCCESS);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(Wait(), NVML_SUCCESS);
    EXPECT_EQ(event_.eventType, kEventMigConfigChange);
    EXPECT_EQ(event_.gpuInstanceId, 0xFFFFFFFFU);
  }
  EXPECT_EQ(Wait(), NVML_ERROR_TIMEOUT);
}

TEST_F(Events, SupportedTypesAreTheBoards) {
  unsigned long long types = 0;
  EXPECT_EQ(nvmlDeviceGetSupportedEventTypes(gpu_, &types), NVML_SUCCESS);
  EXPECT_EQ(types, 0xFF9FU);
}

}  // namespace
}  // namespace partita::sim::nvml
