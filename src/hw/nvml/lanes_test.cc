#include "hw/nvml/lanes.h"

#include <pthread.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "hw/testing/no_more_threads.h"

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

// Late at once, and never given up.
constexpr Lanes::Options kEager{.late = std::chrono::nanoseconds(1), .most_waiting = 2};

void WaitFor(const char* what, const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << what;
    std::this_thread::yield();
  }
}

// Reports by the order in which they come.
class Reports {
 public:
  Lanes::Done Collect(std::string name) {
    return [this, name = std::move(name)](const Lanes::Report& report) {
      const std::scoped_lock lock(mutex_);
      all_.emplace_back(name, report.outcome);
    };
  }
  [[nodiscard]] std::vector<std::pair<std::string, Outcome>> All() const {
    const std::scoped_lock lock(mutex_);
    return all_;
  }
  void WaitForCount(std::size_t count) const {
    WaitFor("reports", [&] { return All().size() >= count; });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, Outcome>> all_;
};

// Threads of this process by name.
std::size_t CountThreads(const std::string& name) {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string text;
    std::getline(file, text);
    if (text.starts_with(name)) ++count;
  }
  return count;
}

TEST(Lanes, ASlowGpuDelaysNobodyAndHasItsThreadOnlyWhileItIsSlow) {
  Lanes lanes(kEager);
  const auto gate = std::make_shared<Gate>();
  Reports reports;
  constexpr std::size_t kSlow = 64;
  for (std::size_t i = 0; i < kSlow; ++i) {
    lanes.Submit("slow " + std::to_string(i), kPatient, HangingJob(gate), reports.Collect("slow"));
  }
  WaitFor("a lane for each", [&] { return lanes.lanes() == kSlow; });
  EXPECT_EQ(lanes.Run("quick", kPatient, [](CallWatch&) {}).outcome, Outcome::kDone);
  EXPECT_TRUE(reports.All().empty());
  EXPECT_EQ(lanes.Running().size(), kSlow);
  EXPECT_EQ(lanes.Running()[0], (CallAt{"slow 0", "nvmlDeviceGetTemperature", false}));
  EXPECT_EQ(CountThreads("driver/"), kSlow);

  gate->Open();
  reports.WaitForCount(kSlow);
  WaitFor("no lane any more", [&] { return lanes.lanes() == 0; });
  WaitFor("one worker and the watch", [&] { return CountThreads("driver") == 2; });
  EXPECT_EQ(CountThreads("driver-watch"), 1U);
  for (const auto& [name, outcome] : reports.All()) EXPECT_EQ(outcome, Outcome::kDone);
}

std::string ThreadName() {
  std::array<char, 16> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

TEST(Lanes, AGpuThatWasSlowBeginsInALaneUntilItIsQuickAgain) {
  Lanes lanes({.late = milliseconds(100), .most_waiting = 2});
  const auto gate = std::make_shared<Gate>();
  Reports reports;
  lanes.Submit("0000:07:00.0", kPatient, HangingJob(gate), reports.Collect("slow"));
  WaitFor("its lane", [&] { return lanes.lanes() == 1; });
  gate->Open();
  WaitFor("its end", [&] { return lanes.lanes() == 0; });
  std::vector<std::string> names;
  for (int i = 0; i < 2; ++i) {
    (void)lanes.Run("0000:07:00.0", kPatient, [&](CallWatch&) { names.push_back(ThreadName()); });
    WaitFor("no lane", [&] { return lanes.lanes() == 0; });
  }
  EXPECT_EQ(names, (std::vector<std::string>{"driver/07:00.0", "driver"}));
}

TEST(Lanes, QuickGpusShareOneThread) {
  Lanes lanes({.late = hours(1), .most_waiting = 2});
  Reports reports;
  for (int i = 0; i < 64; ++i) {
    lanes.Submit(
        std::to_string(i), kPatient, [](CallWatch&) {}, reports.Collect("quick"));
  }
  reports.WaitForCount(64);
  EXPECT_EQ(lanes.lanes(), 0U);
}

TEST(Lanes, JobsOfASlowGpuKeepTheirOrderInItsLane) {
  Lanes lanes(kEager);
  const auto gate = std::make_shared<Gate>();
  Reports reports;
  lanes.Submit("gpu 0", kPatient, HangingJob(gate), reports.Collect("first"));
  lanes.Submit(
      "gpu 0", kPatient, [](CallWatch&) {}, reports.Collect("second"));
  WaitFor("its lane", [&] { return lanes.lanes() == 1; });
  lanes.Submit(
      "gpu 0", kPatient, [](CallWatch&) {}, reports.Collect("third"));
  lanes.Submit(
      "gpu 0", kPatient, [](CallWatch&) {}, reports.Collect("one too many"));
  reports.WaitForCount(1);
  gate->Open();
  reports.WaitForCount(4);
  EXPECT_EQ(reports.All(),
            (std::vector<std::pair<std::string, Outcome>>{{"one too many", Outcome::kCrowded},
                                                          {"first", Outcome::kDone},
                                                          {"second", Outcome::kDone},
                                                          {"third", Outcome::kDone}}));
}

TEST(Lanes, WhoWaitsForAGpuThatIsGivenUpIsTold) {
  Lanes lanes({.late = std::chrono::nanoseconds(1), .most_waiting = 8});
  const auto gate = std::make_shared<Gate>();
  Reports reports;
  lanes.Submit("gpu 0", {.call = milliseconds(200), .job = hours(1)}, HangingJob(gate),
               reports.Collect("hung"));
  lanes.Submit(
      "gpu 0", kPatient, [](CallWatch&) {}, reports.Collect("behind it"));
  reports.WaitForCount(2);
  EXPECT_EQ(reports.All(), (std::vector<std::pair<std::string, Outcome>>{
                               {"hung", Outcome::kHung}, {"behind it", Outcome::kQuarantined}}));
  EXPECT_EQ(lanes.Running(), (std::vector<CallAt>{{"gpu 0", "nvmlDeviceGetTemperature", true}}));
  gate->Open();
}

TEST(Lanes, SayWhyThereIsNoThread) {
  const auto start = [] {
    const testing::NoMoreThreads none;
    auto lanes = std::make_unique<Lanes>();
    EXPECT_EQ(lanes->Start().error().ToString(),
              "start a thread: Resource temporarily unavailable (errno 11)");
    return lanes;
  };
  const std::unique_ptr<Lanes> lanes = start();
  ASSERT_TRUE(lanes->Start().ok());
  EXPECT_EQ(lanes->Run("gpu 0", kPatient, [](CallWatch&) {}).outcome, Outcome::kDone);
}

TEST(Lanes, WhereTheWorkerHangsAndNoOtherCanBeStartedWhoWaitsIsTold) {
  Lanes lanes;
  const auto gate = std::make_shared<Gate>();
  {
    const testing::NoMoreThreads none;
    EXPECT_EQ(lanes.Run("gpu 0", kImpatient, HangingJob(gate)).outcome, Outcome::kHung);
    EXPECT_EQ(lanes.Run("gpu 1", kPatient, [](CallWatch&) {}).outcome, Outcome::kNoThread);
    EXPECT_EQ(lanes.Run("gpu 0", kPatient, [](CallWatch&) {}).outcome, Outcome::kQuarantined);
  }
  EXPECT_EQ(lanes.Run("gpu 1", kPatient, [](CallWatch&) {}).outcome, Outcome::kDone);
  gate->Open();
  WaitUntilBack(lanes);
  EXPECT_EQ(lanes.Run("gpu 0", kPatient, [](CallWatch&) {}).outcome, Outcome::kDone);
}

TEST(Lanes, ALateJobThatNoThreadCanBeStartedBesideGoesOnAsTheWorkers) {
  Lanes lanes({.late = std::chrono::nanoseconds(1), .most_waiting = 8});
  const auto gate = std::make_shared<Gate>();
  Reports reports;
  {
    const testing::NoMoreThreads none;
    lanes.Submit("gpu 0", kPatient, HangingJob(gate), reports.Collect("late"));
    lanes.Submit(
        "gpu 1", kPatient, [](CallWatch&) {}, reports.Collect("other"));
    gate->Open();
    reports.WaitForCount(2);
  }
  EXPECT_EQ(reports.All(), (std::vector<std::pair<std::string, Outcome>>{
                               {"late", Outcome::kDone}, {"other", Outcome::kDone}}));
}

TEST(Lanes, ACompletionMaySubmitAndIsCalledWithoutALock) {
  Lanes lanes;
  Reports reports;
  auto held = std::make_shared<int>(1);  // not const: the job would be copied, not moved
  lanes.Submit(
      "gpu 0", kPatient, [held](CallWatch&) {},
      [&, weak = std::weak_ptr<int>(held)](const Lanes::Report&) {
        EXPECT_EQ(weak.use_count(), 1) << "the job is gone, but for the test's own";
        lanes.Submit(
            "gpu 0", kPatient, [](CallWatch&) {}, reports.Collect("next"));
      });
  reports.WaitForCount(1);
}

TEST(Lanes, WhatHasNotBegunAtTheEndIsTold) {
  Reports reports;
  const auto gate = std::make_shared<Gate>();
  const auto begun = std::make_shared<Gate>();
  std::thread opener;
  {
    Lanes lanes({.late = hours(1), .most_waiting = 2});
    lanes.Submit(
        "gpu 0", kPatient,
        [gate, begun](CallWatch&) {
          begun->Open();
          gate->Wait();
        },
        reports.Collect("running"));
    begun->Wait();
    lanes.Submit(
        "gpu 1", kPatient, [](CallWatch&) {},
        [&](const Lanes::Report& report) { reports.Collect("queued")(report); });
    opener = std::thread([gate] { gate->Open(); });
  }
  opener.join();
  const auto all = reports.All();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0], (std::pair<std::string, Outcome>{"running", Outcome::kDone}));
}

}  // namespace
}  // namespace partita::hw::nvml
