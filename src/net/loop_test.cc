// The contract of a loop, for the real one and for the fake.
#include "net/loop.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "net/testing/fake_loop.h"

namespace partita::net {
namespace {

using std::chrono::milliseconds;

struct LoopCase {
  std::string name;
  std::unique_ptr<Loop> (*make)();
  void (*raise)(Loop& loop, int signal);
  void (*pass)(Loop& loop, Duration time);  // as for a task that takes so long
};

class LoopContract : public ::testing::TestWithParam<LoopCase> {
 protected:
  std::unique_ptr<Loop> owned_ = GetParam().make();
  Loop& loop_ = *owned_;

  [[nodiscard]] std::uint64_t WakeUpsOf(const std::string& name) const {
    for (const WakeUps& each : loop_.CountWakeUps())
      if (each.name == name) return each.count;
    return 0;
  }
};

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    PARTITA_CHECK(pipe(ends.data()) == 0);
    read.Reset(ends[0]);
    write.Reset(ends[1]);
  }
  void Put(char c) const { PARTITA_CHECK(::write(write.get(), &c, 1) == 1); }
  [[nodiscard]] char Take() const {
    char c = 0;
    return ::read(read.get(), &c, 1) == 1 ? c : '\0';
  }
  base::UniqueFd read, write;
};

TEST_P(LoopContract, RunsPostedTasksInOrderAndNeverAtOnce) {
  std::string order;
  loop_.Post([&] {
    order += 'a';
    loop_.Post([&] {
      order += 'c';
      loop_.Stop();
    });
    order += 'b';
  });
  EXPECT_EQ(order, "");
  loop_.Run();
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(WakeUpsOf("post"), 2U);
}

TEST_P(LoopContract, TakesPostsFromManyThreadsAndRunsThemOnItsOwn) {
  constexpr int kThreads = 4, kEach = 250;
  int seen = 0;
  std::thread::id runs_on;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kEach; ++n) {
        loop_.Post([&] {
          runs_on = std::this_thread::get_id();
          if (++seen == kThreads * kEach) loop_.Stop();
        });
      }
    });
  }
  loop_.Run();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen, kThreads * kEach);
  EXPECT_EQ(runs_on, std::this_thread::get_id());
}

TEST_P(LoopContract, IsStoppedByAnotherThreadAndRunsAgain) {
  std::thread stopper([&] { loop_.Stop(); });
  loop_.Run();
  stopper.join();
  bool ran = false;
  loop_.Post([&] {
    ran = true;
    loop_.Stop();
  });
  loop_.Run();
  EXPECT_TRUE(ran);
}

TEST_P(LoopContract, CallsTimersInTheOrderOfTheirTimes) {
  std::string order;
  const auto late = loop_.NewTimer("late"), soon = loop_.NewTimer("soon"),
             now = loop_.NewTimer("now");
  const auto start = loop_.clock().Now();
  late->After(milliseconds(4), [&] {
    order += "late";
    loop_.Stop();
  });
  soon->After(milliseconds(2), [&] { order += "soon "; });
  now->After(milliseconds(0), [&] { order += "now "; });
  EXPECT_TRUE(late->armed());
  loop_.Run();
  EXPECT_EQ(order, "now soon late");
  EXPECT_FALSE(late->armed());
  EXPECT_GE(loop_.clock().Now() - start, milliseconds(4));
  EXPECT_EQ(WakeUpsOf("late"), 1U);
}

TEST_P(LoopContract, ForgetsATimerThatWasCancelledReplacedOrDestroyed) {
  std::string order;
  const auto cancelled = loop_.NewTimer("cancelled"), replaced = loop_.NewTimer("replaced"),
             between = loop_.NewTimer("between"), end = loop_.NewTimer("end");
  auto destroyed = loop_.NewTimer("destroyed");
  // All are due at once: the first to run takes back what the others would do.
  const auto first = loop_.NewTimer("first");
  first->After(milliseconds(0), [&] {
    cancelled->Cancel();
    between->After(milliseconds(1), [&] { order += "between "; });
    replaced->After(milliseconds(2), [&] { order += "new "; });
    destroyed.reset();
    end->After(milliseconds(3), [&] { loop_.Stop(); });
  });
  cancelled->After(milliseconds(0), [&] { order += "cancelled "; });
  replaced->After(milliseconds(0), [&] { order += "old "; });
  destroyed->After(milliseconds(0), [&] { order += "destroyed "; });
  loop_.Run();
  EXPECT_EQ(order, "between new ");
}

TEST_P(LoopContract, RepeatsATimerUntilItIsCancelledFromItsOwnTask) {
  const auto timer = loop_.NewTimer("tick");
  const auto end = loop_.NewTimer("end");
  int ticks = 0;
  timer->Every(milliseconds(1), [&] {
    if (++ticks < 3) return;
    timer->Cancel();
    end->After(milliseconds(3), [&] { loop_.Stop(); });
  });
  loop_.Run();
  EXPECT_EQ(ticks, 3);
  EXPECT_EQ(WakeUpsOf("tick"), 3U);
}

TEST_P(LoopContract, CallsOnceForAllPeriodsThatWereMissed) {
  const auto timer = loop_.NewTimer("tick");
  constexpr milliseconds kPeriod(5);
  int ticks = 0;
  base::Clock::Steady late, third;
  timer->Every(kPeriod, [&] {
    if (++ticks == 1) {
      GetParam().pass(loop_, kPeriod * 10);
      late = loop_.clock().Now();
    }
    third = loop_.clock().Now();
    if (ticks == 3) loop_.Stop();
  });
  loop_.Run();
  // The second came at once, for all of them; the third waits its period again.
  EXPECT_GE(third - late, kPeriod);
}

TEST_P(LoopContract, LetsATimerGoInItsOwnTask) {
  auto timer = loop_.NewTimer("once");
  std::string kept(100, 'x');  // of the closure: reading it afterwards is what could go wrong
  timer->Every(milliseconds(1), [&timer, kept, this] {
    timer.reset();
    EXPECT_EQ(kept.size(), 100U);
    loop_.Stop();
  });
  loop_.Run();
  EXPECT_EQ(timer, nullptr);
}

TEST_P(LoopContract, CallsAgainWhileThereIsSomethingToRead) {
  const Pipe pipe;
  pipe.Put('a');
  pipe.Put('b');
  std::string read;
  const auto watch = loop_.NewWatch("pipe", pipe.read.get());
  watch->OnReadable([&] {
    read += pipe.Take();
    if (read == "ab") loop_.Post([&] { pipe.Put('c'); });
    if (read == "abc") loop_.Stop();
  });
  loop_.Run();
  EXPECT_EQ(read, "abc");
  EXPECT_EQ(WakeUpsOf("pipe"), 3U);
}

TEST_P(LoopContract, TellsTheEndOfAStream) {
  Pipe pipe;
  const auto watch = loop_.NewWatch("pipe", pipe.read.get());
  watch->OnReadable([&] { loop_.Stop(); });
  loop_.Post([&] { pipe.write.Reset(); });
  loop_.Run();
  EXPECT_EQ(pipe.Take(), '\0');
}

TEST_P(LoopContract, CallsForRoomOnlyWhileAskedTo) {
  const Pipe pipe;
  const auto watch = loop_.NewWatch("pipe", pipe.write.get());
  int calls = 0;
  watch->OnWritable([&] {
    if (++calls < 2) return;
    watch->OnWritable(nullptr);
    loop_.Post([&] { loop_.Post([&] { loop_.Stop(); }); });
  });
  loop_.Run();
  EXPECT_EQ(calls, 2);
  // And anew.
  watch->OnWritable([&] {
    ++calls;
    loop_.Stop();
  });
  loop_.Run();
  EXPECT_GE(calls, 3);
}

TEST_P(LoopContract, LeavesADescriptorOpenWhoseWatchGoesInItsOwnTask) {
  const Pipe pipe;
  pipe.Put('a');
  auto watch = loop_.NewWatch("pipe", pipe.read.get());
  watch->OnReadable([&] {
    watch.reset();
    loop_.Post([&] { loop_.Stop(); });
  });
  loop_.Run();
  EXPECT_EQ(pipe.Take(), 'a');
  // It can be watched again.
  const auto again = loop_.NewWatch("pipe", pipe.read.get());
  pipe.Put('b');
  again->OnReadable([&] { loop_.Stop(); });
  loop_.Run();
  EXPECT_EQ(pipe.Take(), 'b');
}

TEST_P(LoopContract, DeliversSignalsToItsOwnThread) {
  std::vector<int> seen;
  const auto watch = loop_.OnSignals({SIGUSR1, SIGUSR2}, [&](int signal) {
    seen.push_back(signal);
    if (seen.size() == 1) GetParam().raise(loop_, SIGUSR2);
    if (seen.size() == 2) loop_.Stop();
  });
  GetParam().raise(loop_, SIGUSR1);
  EXPECT_TRUE(seen.empty());
  loop_.Run();
  EXPECT_EQ(seen, (std::vector<int>{SIGUSR1, SIGUSR2}));
}

INSTANTIATE_TEST_SUITE_P(
    Both,
    LoopContract,
    ::testing::Values(
        LoopCase{"Real", NewLoop, [](Loop&, int signal) { PARTITA_CHECK(raise(signal) == 0); },
                 [](Loop& loop, Duration time) {
                   for (const auto end = loop.clock().Now() + time; loop.clock().Now() < end;) {
                   }
                 }},
        LoopCase{
            "Fake", []() -> std::unique_ptr<Loop> { return std::make_unique<testing::FakeLoop>(); },
            [](Loop& loop, int signal) { dynamic_cast<testing::FakeLoop&>(loop).Raise(signal); },
            [](Loop& loop, Duration time) {
              dynamic_cast<testing::FakeLoop&>(loop).fake_clock().Move(time);
            }}),
    [](const auto& each) { return each.param.name; });

TEST(RealLoopDeathTest, EndsWhereATaskThrows) {
  EXPECT_DEATH(
      {
        const auto loop = NewLoop();
        loop->Post([] { throw std::runtime_error("nobody catches this"); });
        loop->Run();
      },
      "nobody catches this");
}

TEST(FakeLoop, AdvancesThroughEachTimerAtItsOwnTime) {
  testing::FakeLoop loop;
  std::vector<Duration> at;
  const auto start = loop.clock().Now();
  const auto timer = loop.NewTimer("tick");
  timer->Every(std::chrono::seconds(2), [&] { at.push_back(loop.clock().Now() - start); });
  loop.Advance(std::chrono::seconds(5));
  EXPECT_EQ(at, (std::vector<Duration>{std::chrono::seconds(2), std::chrono::seconds(4)}));
  EXPECT_EQ(loop.clock().Now() - start, std::chrono::seconds(5));
  EXPECT_EQ(loop.ArmedTimers(),
            (std::vector<std::pair<std::string, Duration>>{{"tick", std::chrono::seconds(1)}}));
}

TEST(FakeLoop, CallsAPausedProcessOnceForAllItMissed) {
  testing::FakeLoop loop;
  int ticks = 0;
  const auto timer = loop.NewTimer("tick");
  timer->Every(std::chrono::seconds(2), [&] { ++ticks; });
  loop.Jump(std::chrono::hours(1));
  EXPECT_EQ(ticks, 1);
  loop.Advance(std::chrono::seconds(2));
  EXPECT_EQ(ticks, 2);
}

TEST(FakeLoop, MissesNoPostThatComesAsItGoesToSleep) {
  testing::FakeLoop loop;
  constexpr int kPosts = 50'000;
  std::atomic<int> heard = 0;
  std::thread other([&] {
    for (int post = 1; post <= kPosts; ++post) {
      loop.Post([&] { ++heard; });
      while (heard < post) std::this_thread::yield();
    }
  });
  loop.RunUntil([&] { return heard == kPosts; });
  other.join();
  EXPECT_EQ(heard, kPosts);
}

TEST(FakeLoop, HasAWallThatTimersDoNotLookAt) {
  testing::FakeLoop loop;
  int ticks = 0;
  const auto timer = loop.NewTimer("tick");
  timer->After(std::chrono::seconds(2), [&] { ++ticks; });
  loop.fake_clock().SetWall(loop.clock().WallNow() + std::chrono::hours(24));
  loop.RunUntilIdle();
  EXPECT_EQ(ticks, 0);
}

TEST(FakeLoop, WaitsForAnotherThreadWhileTheClockStands) {
  testing::FakeLoop loop;
  bool answered = false;
  const auto start = loop.clock().Now();
  const auto timer = loop.NewTimer("tick");
  timer->After(std::chrono::seconds(2), [] { FAIL(); });
  std::thread other([&] { loop.Post([&] { answered = true; }); });
  loop.RunUntil([&] { return answered; });
  other.join();
  EXPECT_EQ(loop.clock().Now(), start);
}

}  // namespace
}  // namespace partita::net
