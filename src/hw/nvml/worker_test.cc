#include "hw/nvml/worker.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace partita::hw::nvml {
namespace {

using Outcome = Worker::Outcome;
using std::chrono::hours;
using std::chrono::milliseconds;

constexpr Worker::Limits kPatient{.call = hours(1), .job = hours(1)};
constexpr Worker::Limits kImpatient{.call = milliseconds(1), .job = hours(1)};

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

Worker::Job HangingJob(const std::shared_ptr<Gate>& gate) {
  return [gate](CallWatch& watch) {
    ASSERT_TRUE(watch.Enter("nvmlDeviceGetTemperature"));
    gate->Wait();
    watch.Leave();
  };
}

void WaitUntilBack(const Worker& worker) {
  // Far above what it takes: only for what never comes.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (worker.abandoned() > 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << "a job that may go on has not come back";
    std::this_thread::yield();
  }
}

TEST(Worker, RunsJobsOneAfterAnotherOnOneThreadOfItsOwn) {
  Worker worker;
  std::vector<std::thread::id> threads;
  for (int i = 0; i < 3; ++i) {
    const Worker::Report report = worker.Run(
        "", kPatient, [&](CallWatch&) { threads.push_back(std::this_thread::get_id()); });
    EXPECT_EQ(report.outcome, Outcome::kDone);
  }
  ASSERT_EQ(threads.size(), 3U);
  EXPECT_EQ(threads[0], threads[1]);
  EXPECT_EQ(threads[0], threads[2]);
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(Worker, GivesUpACallThatHangsAndGoesOnWithOtherGpus) {
  Worker worker;
  const auto gate = std::make_shared<Gate>();
  const Worker::Report hung = worker.Run("gpu 0", kImpatient, HangingJob(gate));
  EXPECT_EQ(hung.outcome, Outcome::kHung);
  EXPECT_EQ(hung.function, "nvmlDeviceGetTemperature");
  EXPECT_EQ(hung.limit, milliseconds(1));
  EXPECT_EQ(worker.abandoned(), 1U);

  EXPECT_EQ(worker.Run("gpu 1", kPatient, [](CallWatch&) {}).outcome, Outcome::kDone);
  EXPECT_EQ(worker.Run("", kPatient, [](CallWatch&) {}).outcome, Outcome::kDone);
  gate->Open();
}

TEST(Worker, KeepsAGpuInQuarantineUntilItsCallComesBack) {
  Worker worker;
  const auto gate = std::make_shared<Gate>();
  (void)worker.Run("gpu 0", kImpatient, HangingJob(gate));
  bool ran = false;
  EXPECT_EQ(worker.Run("gpu 0", kPatient, [&](CallWatch&) { ran = true; }).outcome,
            Outcome::kQuarantined);
  EXPECT_FALSE(ran);
  EXPECT_EQ(worker.abandoned(), 1U) << "never two threads for one GPU";

  gate->Open();
  WaitUntilBack(worker);
  EXPECT_EQ(worker.Run("gpu 0", kPatient, [&](CallWatch&) { ran = true; }).outcome, Outcome::kDone);
  EXPECT_TRUE(ran);
}

TEST(Worker, ACallWithoutAGpuThatHangsStopsEverything) {
  Worker worker;
  const auto gate = std::make_shared<Gate>();
  EXPECT_EQ(worker.Run("", kImpatient, HangingJob(gate)).outcome, Outcome::kHung);
  EXPECT_EQ(worker.Run("gpu 0", kPatient, [](CallWatch&) {}).outcome, Outcome::kStuck);
  EXPECT_EQ(worker.Run("", kPatient, [](CallWatch&) {}).outcome, Outcome::kStuck);
  gate->Open();
  WaitUntilBack(worker);
  EXPECT_EQ(worker.Run("gpu 0", kPatient, [](CallWatch&) {}).outcome, Outcome::kDone);
}

TEST(Worker, AnAbandonedJobMayNotCallTheDriverAnyMore) {
  Worker worker;
  const auto gate = std::make_shared<Gate>();
  const auto finished = std::make_shared<Gate>();
  const auto refused = std::make_shared<bool>(false);
  (void)worker.Run("gpu 0", kImpatient, [gate, finished, refused](CallWatch& watch) {
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

TEST(Worker, LimitsTheWholeJobToo) {
  Worker worker;
  const auto gate = std::make_shared<Gate>();
  const Worker::Report report = worker.Run("gpu 0", {.call = hours(1), .job = milliseconds(1)},
                                           [gate](CallWatch&) { gate->Wait(); });
  EXPECT_EQ(report.outcome, Outcome::kHung);
  EXPECT_EQ(report.function, "") << "it was in no call";
  gate->Open();
}

TEST(Worker, ACallMayHaveALongerLimitOfItsOwn) {
  Worker worker;
  const auto gate = std::make_shared<Gate>();
  std::thread opener;
  const Worker::Report report = worker.Run("gpu 0", kImpatient, [&](CallWatch& watch) {
    ASSERT_TRUE(watch.Enter("nvmlInit_v2", hours(1)));
    opener = std::thread([gate] { gate->Open(); });
    gate->Wait();
    watch.Leave();
  });
  opener.join();
  EXPECT_EQ(report.outcome, Outcome::kDone);
}

TEST(Worker, DoesNotWaitForAbandonedThreadsAtItsEnd) {
  const auto gate = std::make_shared<Gate>();
  const auto back = std::make_shared<Gate>();
  {
    Worker worker;
    (void)worker.Run("gpu 0", kImpatient, [gate, back](CallWatch& watch) {
      ASSERT_TRUE(watch.Enter("nvmlDeviceGetName"));
      gate->Wait();
      watch.Leave();
      back->Open();
    });
  }
  gate->Open();
  back->Wait();
}

TEST(Worker, ServesSeveralThreads) {
  Worker worker;
  int count = 0;  // safe without a lock: all jobs are on the driver thread
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&worker, &count, i] {
      for (int j = 0; j < 100; ++j) {
        (void)worker.Run(std::to_string(i), kPatient, [&count](CallWatch& watch) {
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
