#include <optional>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/result.h"
#include "net/loop.h"
#include "net/wake_up_counts.h"

namespace partita::net {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

void Call(const Task& task) noexcept { task(); }

// Kept by whoever waits in the io_context, so that a timer can go at any time.
struct TimerState {
  TimerState(asio::io_context& io, WakeUpCounts::Counter wake_ups)
      : timer(io), counter(std::move(wake_ups)) {}
  asio::steady_timer timer;
  WakeUpCounts::Counter counter;
  std::shared_ptr<const Task> task;
  std::optional<Duration> period;
  std::uint64_t armed_for = 0;  // which arming is in force: one that was replaced calls nobody
};

void Wait(const std::shared_ptr<TimerState>& state);

// NOLINTNEXTLINE(bugprone-exception-escape): one that leaves it ends the program, by contract
void Fire(const std::shared_ptr<TimerState>& state) noexcept {
  ++*state->counter;
  const std::shared_ptr<const Task> task = state->task;
  if (state->period) {
    const auto now = std::chrono::steady_clock::now();
    const auto next = state->timer.expiry() + *state->period;
    state->timer.expires_at(next > now ? next : now + *state->period);
    Wait(state);
  } else {
    state->task.reset();
  }
  Call(*task);
}

void Wait(const std::shared_ptr<TimerState>& state) {
  state->timer.async_wait([state, armed_for = state->armed_for](const error_code& error) {
    if (!error && state->armed_for == armed_for) Fire(state);
  });
}

class AsioTimer final : public Timer {
 public:
  explicit AsioTimer(std::shared_ptr<TimerState> state) : state_(std::move(state)) {}
  AsioTimer(const AsioTimer&) = delete;
  AsioTimer& operator=(const AsioTimer&) = delete;
  // NOLINTNEXTLINE(bugprone-exception-escape): Asio reports errors of cancel() by exception
  ~AsioTimer() override { Disarm(); }

  void After(Duration delay, Task task) override { Arm(delay, std::nullopt, std::move(task)); }
  void Every(Duration period, Task task) override { Arm(period, period, std::move(task)); }
  void Cancel() override { Disarm(); }
  [[nodiscard]] bool armed() const override { return state_->task != nullptr; }

 private:
  void Disarm() {
    ++state_->armed_for;
    state_->task.reset();
    state_->timer.cancel();
  }
  void Arm(Duration delay, std::optional<Duration> period, Task task) {
    Disarm();
    state_->task = std::make_shared<const Task>(std::move(task));
    state_->period = period;
    state_->timer.expires_after(delay);
    Wait(state_);
  }
  std::shared_ptr<TimerState> state_;
};

struct WatchState {
  // What is watched for in one direction.
  struct Direction {
    asio::posix::descriptor_base::wait_type type;
    std::shared_ptr<const Task> task;
    bool waiting = false;  // the descriptor is asked already
  };
  WatchState(asio::io_context& io, WakeUpCounts::Counter wake_ups)
      : descriptor(io), counter(std::move(wake_ups)) {}
  asio::posix::stream_descriptor descriptor;
  WakeUpCounts::Counter counter;
  Direction reading{asio::posix::descriptor_base::wait_read, nullptr};
  Direction writing{asio::posix::descriptor_base::wait_write, nullptr};
};

void WaitFor(const std::shared_ptr<WatchState>& state, WatchState::Direction& direction) {
  if (direction.waiting) return;
  direction.waiting = true;
  state->descriptor.async_wait(direction.type, [state, &direction](const error_code& error) {
    direction.waiting = false;
    if (error || direction.task == nullptr) return;
    ++*state->counter;
    const std::shared_ptr<const Task> task = direction.task;
    Call(*task);
    if (direction.task != nullptr) WaitFor(state, direction);
  });
}

class AsioWatch final : public Watch {
 public:
  explicit AsioWatch(std::shared_ptr<WatchState> state) : state_(std::move(state)) {}
  AsioWatch(const AsioWatch&) = delete;
  AsioWatch& operator=(const AsioWatch&) = delete;
  ~AsioWatch() override {
    state_->reading.task.reset();
    state_->writing.task.reset();
    // Its owner closes it.
    state_->descriptor.release();
  }
  void OnReadable(Task task) override { Set(state_->reading, std::move(task)); }
  void OnWritable(Task task) override { Set(state_->writing, std::move(task)); }

 private:
  void Set(WatchState::Direction& direction, Task task) {
    direction.task = task ? std::make_shared<const Task>(std::move(task)) : nullptr;
    if (direction.task != nullptr) WaitFor(state_, direction);
  }
  std::shared_ptr<WatchState> state_;
};

struct SignalState {
  SignalState(asio::io_context& io, WakeUpCounts::Counter wake_ups)
      : signals(io), counter(std::move(wake_ups)) {}
  asio::signal_set signals;
  WakeUpCounts::Counter counter;
  std::shared_ptr<const std::function<void(int)>> task;
};

void Deliver(const std::function<void(int)>& task, int signal) noexcept { task(signal); }

void WaitForSignal(const std::shared_ptr<SignalState>& state) {
  state->signals.async_wait([state](const error_code& error, int signal) {
    if (error || state->task == nullptr) return;
    ++*state->counter;
    WaitForSignal(state);
    const auto task = state->task;
    Deliver(*task, signal);
  });
}

class AsioSignalWatch final : public SignalWatch {
 public:
  explicit AsioSignalWatch(std::shared_ptr<SignalState> state) : state_(std::move(state)) {}
  AsioSignalWatch(const AsioSignalWatch&) = delete;
  AsioSignalWatch& operator=(const AsioSignalWatch&) = delete;
  ~AsioSignalWatch() override {
    state_->task.reset();
    error_code ignored;
    state_->signals.clear(ignored);
    // Or who waits would keep the state, and the state who waits.
    state_->signals.cancel(ignored);
  }

 private:
  std::shared_ptr<SignalState> state_;
};

class AsioLoop final : public Loop {
 public:
  AsioLoop() : io_(1), work_(io_.get_executor()), posted_(counts_.Of("post")) {}

  [[nodiscard]] const base::Clock& clock() const override { return clock_; }

  void Post(Task task) override {
    asio::post(io_, [task = std::move(task), posted = posted_] {
      ++*posted;
      Call(task);
    });
  }

  [[nodiscard]] std::unique_ptr<Timer> NewTimer(std::string name) override {
    return std::make_unique<AsioTimer>(std::make_shared<TimerState>(io_, counts_.Of(name)));
  }

  [[nodiscard]] std::unique_ptr<Watch> NewWatch(std::string name, int descriptor) override {
    auto state = std::make_shared<WatchState>(io_, counts_.Of(name));
    error_code error;
    state->descriptor.assign(descriptor, error);
    PARTITA_CHECK(!error);
    return std::make_unique<AsioWatch>(std::move(state));
  }

  [[nodiscard]] std::unique_ptr<SignalWatch> OnSignals(std::vector<int> signals,
                                                       std::function<void(int)> task) override {
    auto state = std::make_shared<SignalState>(io_, counts_.Of("signal"));
    state->task = std::make_shared<const std::function<void(int)>>(std::move(task));
    for (const int signal : signals) state->signals.add(signal);
    WaitForSignal(state);
    return std::make_unique<AsioSignalWatch>(std::move(state));
  }

  void Run() override {
    io_.run();
    io_.restart();
  }
  void Stop() override { io_.stop(); }

  [[nodiscard]] std::vector<WakeUps> CountWakeUps() const override { return counts_.All(); }

 private:
  base::SystemClock clock_;
  WakeUpCounts counts_;
  asio::io_context io_;
  // As long as the loop lives: it runs until it is told to stop, not until nothing is awaited.
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  // Found once: posting threads must not touch the map.
  WakeUpCounts::Counter posted_;
};

}  // namespace

std::unique_ptr<Loop> NewLoop() { return std::make_unique<AsioLoop>(); }

}  // namespace partita::net
