// A loop whose time is the test's: it stands still until somebody moves it. Descriptors and posts
// from other threads are real. Held to the same contract as the real loop (loop_test.cc).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "net/loop.h"
#include "net/wake_up_counts.h"

namespace partita::net::testing {

// Begins on 1 January 2026, a second after the machine's start.
class FakeClock final : public base::Clock {
 public:
  [[nodiscard]] Steady Now() const override { return now_; }
  [[nodiscard]] Wall WallNow() const override { return wall_; }
  // Time goes on, on both.
  void Move(Duration time);
  // Somebody sets the clock on the wall; timers do not care.
  void SetWall(Wall wall) { wall_ = wall; }

 private:
  Steady now_{std::chrono::seconds(1)};
  Wall wall_{std::chrono::sys_days{std::chrono::January / 1 / 2026}};
};

class FakeLoop final : public Loop {
 public:
  FakeLoop();
  FakeLoop(const FakeLoop&) = delete;
  FakeLoop& operator=(const FakeLoop&) = delete;
  ~FakeLoop() override;

  [[nodiscard]] const base::Clock& clock() const override { return clock_; }
  void Post(Task task) override;
  [[nodiscard]] std::unique_ptr<Timer> NewTimer(std::string name) override;
  [[nodiscard]] std::unique_ptr<Watch> NewWatch(std::string name, int descriptor) override;
  [[nodiscard]] std::unique_ptr<SignalWatch> OnSignals(std::vector<int> signals,
                                                       std::function<void(int)> task) override;
  // Until Stop; where nothing is left to do now, the time of the next timer comes. Without one it
  // waits for another thread's post or a descriptor.
  void Run() override;
  void Stop() override;
  [[nodiscard]] std::vector<WakeUps> CountWakeUps() const override { return counts_.All(); }

  // For tests, all on the loop's thread.

  // Everything that can be done now: posts, timers whose time has come, ready descriptors.
  void RunUntilIdle();
  // Time passes as it does for a program that runs: each timer is called at its own time.
  void Advance(Duration time);
  // Time passes as for a paused process, or one of a suspended machine: afterwards all is late.
  void Jump(Duration time);
  // Does what can be done now and waits for other threads and descriptors, while the clock stands
  // still, until the condition holds. Where nothing comes for two minutes, the process ends and
  // says what was waited for.
  void RunUntil(const std::function<bool()>& condition);
  // As the kernel would deliver it. Nobody asked for it: the test fails (the process ends).
  void Raise(int signal);
  FakeClock& fake_clock() { return clock_; }
  // Names and times from now of what is armed, soonest first.
  [[nodiscard]] std::vector<std::pair<std::string, Duration>> ArmedTimers() const;

 private:
  friend class FakeTimer;
  friend class FakeWatch;
  friend class FakeSignalWatch;
  struct Armed;
  struct Watched;
  struct Signals;
  using Due = std::pair<base::Clock::Steady, std::uint64_t>;  // equal times in the order of arming

  bool RunPosted();
  bool RunOneTimer();
  bool RunDescriptors(int timeout);
  [[noreturn]] void EndForSilence();
  [[nodiscard]] bool Stopped();

  FakeClock clock_;
  WakeUpCounts counts_;
  WakeUpCounts::Counter posted_count_;
  std::map<Due, std::shared_ptr<Armed>> timers_;
  std::map<int, std::shared_ptr<Watched>> watched_;
  std::vector<std::shared_ptr<Signals>> signals_;
  std::uint64_t sequence_ = 0;

  std::mutex mutex_;  // of what other threads touch
  std::vector<Task> posted_;
  bool stopped_ = false;
  base::UniqueFd event_;  // readable when something was posted
};

}  // namespace partita::net::testing
