#include "hw/nvml/lanes.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace partita::hw::nvml {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr JobLimits kPatient{.call = hours(1), .job = hours(1)};
constexpr JobLimits kImpatient{.call = milliseconds(1), .job = hours(1)};

// Blocks whoever waits until it is opened: a driver call that hangs, and its end.
class Gate {
 public:
  void Open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

Lanes::Job HangingJob(const std::shared_ptr<Gate>& gate) {
  return [gate](CallWatch& watch) {
    ASSERT_TRUE(watch.Enter("nvmlDeviceGetTemperature"));
    gate->Wait();
    watch.Leave();
  };
}

void WaitUntilBack(const Lanes& lanes) {
  // Far above what it takes: only for what never comes.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (lanes.lanes() > 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << "a job that may go on has not come back";
    std::this_thread::yield();
  }
}

TEST(Lanes, RunsJobsOneAfterAnotherOnOneThreadOfItsOwn) {
  Lanes lanes;
  std::vector<std::thread::id> threads;
  for (int i = 0; i < 3; ++i) {
    const Lanes::Report report =
        lanes.Run("", kPatient, [&](CallWatch&) { threads.push_back(std::this_thread::get_id()); });
    EXPECT_EQ(report.outcome, Outcome::kDone);
  }
  ASSERT_EQ(threads.size(), 3U);
  EXPECT_EQ(threads[0], threads[1]);
  EXPECT_EQ(threads[0], threads[2]);
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(Lanes, GivesUpACallThatHangsAndGoesOnWithOtherGpus) {
  Lanes lanes;
  const auto gate = std::make_shared<Gate>();
  const Lanes::Report hung = lanes.Run("gpu 0", kImpatient, HangingJob(gate));
  EXPECT_EQ(hung.outcome, Outcome::kHung);
  EXPECT_EQ(hung.function, "nvmlDeviceGetTemperature");
  EXPECT_EQ(hung.limit, milliseconds(1));
  EXPECT_EQ(lanes.lanes(), 1U);

  EXPECT_EQ(lanes.Run("gpu 1", kPatient, [](CallWatch&) {}).outcome, Outcome::kDone);
  EXPECT_EQ(lanes.Run("", kPatient, [](CallWatch&) {}).outcome, Outcome::kDone);
  gate->Open();
}

TEST(Lanes, KeepsAGpuInQuarantineUntilItsCallComesBack) {
  Lanes lanes;
  const auto gate = std::make_shared<Gate>();
  (void)lanes.Run("gpu 0", kImpatient, HangingJob(gate));
  bool ran = false;
  EXPECT_EQ(lanes.Run("gpu 0", kPatient, [&](CallWatch&) { ran = true; }).outcome,
            Outcome::kQuarantined);
  EXPECT_FALSE(ran);
  EXPECT_EQ(lanes.lanes(), 1U) << "never two threads for one GPU";

  gate->Open();
  WaitUntilBack(lanes);
  EXPECT_EQ(lanes.Run("gpu 0", kPatient, [&](CallWatch&) { ran = true; }).outcome, Outcome::kDone);
  EXPECT_TRUE(ran);
}

TEST(Lanes, ACallWithoutAGpuThatHangsStopsEverything) {
  Lanes lanes;
  const auto gate = std::make_shared<Gate>();
  EXPECT_EQ(lanes.Run("", kImpatient, HangingJob(gate)).outcome, Outcome::kHung);
  EXPECT_EQ(lanes.Run("gpu 0", kPatient, [](CallWatch&) {}).outcome, Outcome::kStuck);
  EXPECT_EQ(lanes.Run("", kPatient, [](CallWatch&) {}).outcome, Outcome::kStuck);
  gate->Open();
  WaitUntilBack(lanes);
  EXPECT_EQ(lanes.Run("gpu 0", kPatient, [](CallWatch&) {}).outcome, Outcome::kDone);
}

TEST(Lanes, AnAbandonedJobMayNotCallTheDriverAnyMore) {
  Lanes lanes;
  const auto gate = std::make_shared<Gate>();
  const auto finished = std::make_shared<Gate>();
  const auto refused = std::make_shared<bool>(false);
  (void)lanes.Run("gpu 0", kImpatient, [gate, finished, refused](CallWatch& watch) {
    ASSERT_TRUE(watch.Enter("nvmlDeviceGetName"));
    gate->Wait();
    watch.Leave();
    *refused = !watch.Enter("nvmlDeviceGetUUID");
    finished->Open();
  });
  gate->Open();
  finished->Wait();
  EXPECT_TRUE(*refused);
}

TEST(Lanes, LimitsTheWholeJobToo) {
  Lanes lanes;
  const auto gate = std::make_shared<Gate>();
  const Lanes::Report report = lanes.Run("gpu 0", {.call = hours(1), .job = milliseconds(1)},
                                         [gate](CallWatch&) { gate->Wait(); });
  EXPECT_EQ(report.outcome, Outcome::kHung);
  EXPECT_EQ(report.function, "") << "it was in no call";
  gate->Open();
}

TEST(Lanes, ACallMayHaveALongerLimitOfItsOwn) {
  Lanes lanes;
  const auto gate = std::make_shared<Gate>();
  std::thread opener;
  const Lanes::Report report = lanes.Run("gpu 0", kImpatient, [&](CallWatch& watch) {
    ASSERT_TRUE(watch.Enter("nvmlInit_v2", hours(1)));
    opener = std::thread([gate] { gate->Open(); });
    gate->Wait();
    watch.Leave();
  });
  opener.join();
  EXPECT_EQ(report.outcome, Outcome::kDone);
}

TEST(Lanes, DoesNotWaitForAbandonedThreadsAtItsEnd) {
  const auto gate = std::make_shared<Gate>();
  const auto back = std::make_shared<Gate>();
  {
    Lanes lanes;
    (void)lanes.Run("gpu 0", kImpatient, [gate, back](CallWatch& watch) {
      ASSERT_TRUE(watch.Enter("nvmlDeviceGetName"));
      gate->Wait();
      watch.Leave();
      back->Open();
    });
  }
  gate->Open();
  back->Wait();
}

TEST(Lanes, ServesSeveralThreads) {
  Lanes lanes;
  int count = 0;  // safe without a lock: all jobs are on the driver thread
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&lanes, &count, i] {
      for (int j = 0; j < 100; ++j) {
        (void)lanes.Run(std::to_string(i), kPatient, [&count](CallWatch& watch) {
          ASSERT_TRUE(watch.Enter("nvmlDeviceGetIndex"));
          ++count;
          watch.Leave();
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 400);
}

}  // namespace
}  // namespace partita::hw::nvml
