#include "net/testing/fake_loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "base/result.h"

namespace partita::net::testing {

namespace {

void Call(const Task& task) noexcept { task(); }

// More than any test does at one moment: a program that never comes to rest.
constexpr int kMostRounds = 1'000'000;

// Of real time in which nothing at all comes: what is waited for never will.
constexpr int kLongestSilence = 120'000;  // ms

}  // namespace

struct FakeLoop::Armed {
  std::string name;
  WakeUpCounts::Counter counter;
  std::shared_ptr<const Task> task;
  std::optional<Duration> period;
  std::optional<Due> due;
};

struct FakeLoop::Watched {
  std::string name;
  WakeUpCounts::Counter counter;
  std::shared_ptr<const Task> readable;
  std::shared_ptr<const Task> writable;
};

struct FakeLoop::Signals {
  std::vector<int> signals;
  WakeUpCounts::Counter counter;
  std::function<void(int)> task;
};

class FakeTimer final : public Timer {
 public:
  FakeTimer(FakeLoop& loop, std::shared_ptr<FakeLoop::Armed> armed)
      : loop_(loop), armed_(std::move(armed)) {}
  FakeTimer(const FakeTimer&) = delete;
  FakeTimer& operator=(const FakeTimer&) = delete;
  ~FakeTimer() override { Cancel(); }
  void After(Duration delay, Task task) override { Arm(delay, std::nullopt, std::move(task)); }
  void Every(Duration period, Task task) override { Arm(period, period, std::move(task)); }
  void Cancel() override {
    if (armed_->due) loop_.timers_.erase(*armed_->due);
    armed_->due.reset();
    armed_->task.reset();
  }
  [[nodiscard]] bool armed() const override { return armed_->task != nullptr; }

 private:
  void Arm(Duration delay, std::optional<Duration> period, Task task) {
    Cancel();
    armed_->task = std::make_shared<const Task>(std::move(task));
    armed_->period = period;
    armed_->due = {loop_.clock_.Now() + delay, ++loop_.sequence_};
    loop_.timers_.emplace(*armed_->due, armed_);
  }
  FakeLoop& loop_;
  std::shared_ptr<FakeLoop::Armed> armed_;
};

class FakeWatch final : public Watch {
 public:
  FakeWatch(FakeLoop& loop, int descriptor, std::shared_ptr<FakeLoop::Watched> watched)
      : loop_(loop), descriptor_(descriptor), watched_(std::move(watched)) {}
  FakeWatch(const FakeWatch&) = delete;
  FakeWatch& operator=(const FakeWatch&) = delete;
  ~FakeWatch() override {
    watched_->readable.reset();
    watched_->writable.reset();
    loop_.watched_.erase(descriptor_);
  }
  void OnReadable(Task task) override { watched_->readable = Shared(std::move(task)); }
  void OnWritable(Task task) override { watched_->writable = Shared(std::move(task)); }

 private:
  static std::shared_ptr<const Task> Shared(Task task) {
    return task ? std::make_shared<const Task>(std::move(task)) : nullptr;
  }
  FakeLoop& loop_;
  int descriptor_;
  std::shared_ptr<FakeLoop::Watched> watched_;
};

class FakeSignalWatch final : public SignalWatch {
 public:
  FakeSignalWatch(FakeLoop& loop, std::shared_ptr<FakeLoop::Signals> signals)
      : loop_(loop), signals_(std::move(signals)) {}
  FakeSignalWatch(const FakeSignalWatch&) = delete;
  FakeSignalWatch& operator=(const FakeSignalWatch&) = delete;
  ~FakeSignalWatch() override { std::erase(loop_.signals_, signals_); }

 private:
  FakeLoop& loop_;
  std::shared_ptr<FakeLoop::Signals> signals_;
};

void FakeClock::Move(Duration time) {
  now_ += time;
  wall_ += std::chrono::duration_cast<Wall::duration>(time);
}

FakeLoop::FakeLoop()
    : posted_count_(counts_.Of("post")), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  PARTITA_CHECK(event_.valid());
}

FakeLoop::~FakeLoop() = default;

void FakeLoop::Post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
  }
  (void)!eventfd_write(event_.get(), 1);
}

std::unique_ptr<Timer> FakeLoop::NewTimer(std::string name) {
  auto armed = std::make_shared<Armed>();
  armed->counter = counts_.Of(name);
  armed->name = std::move(name);
  return std::make_unique<FakeTimer>(*this, std::move(armed));
}

std::unique_ptr<Watch> FakeLoop::NewWatch(std::string name, int descriptor) {
  auto watched = std::make_shared<Watched>();
  watched->counter = counts_.Of(name);
  watched->name = std::move(name);
  PARTITA_CHECK(watched_.emplace(descriptor, watched).second);
  return std::make_unique<FakeWatch>(*this, descriptor, std::move(watched));
}

std::unique_ptr<SignalWatch> FakeLoop::OnSignals(std::vector<int> signals,
                                                 std::function<void(int)> task) {
  auto watched = std::make_shared<Signals>();
  *watched = {std::move(signals), counts_.Of("signal"), std::move(task)};
  signals_.push_back(watched);
  return std::make_unique<FakeSignalWatch>(*this, std::move(watched));
}

bool FakeLoop::Stopped() {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

void FakeLoop::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  (void)!eventfd_write(event_.get(), 1);
}

bool FakeLoop::RunPosted() {
  // First: a post that comes between the two leaves the descriptor readable.
  eventfd_t ignored = 0;
  (void)!eventfd_read(event_.get(), &ignored);
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    ++*posted_count_;
    Call(tasks[i]);
    if (!Stopped()) continue;
    // The rest is for the next run.
    const std::lock_guard lock(mutex_);
    posted_.insert(posted_.begin(), std::make_move_iterator(tasks.begin()) + std::ptrdiff_t(i) + 1,
                   std::make_move_iterator(tasks.end()));
    break;
  }
  return !tasks.empty();
}

bool FakeLoop::RunOneTimer() {
  if (timers_.empty() || timers_.begin()->first.first > clock_.Now()) return false;
  const std::shared_ptr<Armed> armed = timers_.begin()->second;
  timers_.erase(timers_.begin());
  const std::shared_ptr<const Task> task = armed->task;
  if (armed->period) {
    const auto next = armed->due->first + *armed->period;
    armed->due = {next > clock_.Now() ? next : clock_.Now() + *armed->period, ++sequence_};
    timers_.emplace(*armed->due, armed);
  } else {
    armed->due.reset();
    armed->task.reset();
  }
  ++*armed->counter;
  Call(*task);
  return true;
}

bool FakeLoop::RunDescriptors(int timeout) {
  std::vector<pollfd> polled = {{event_.get(), POLLIN, 0}};
  std::vector<std::shared_ptr<Watched>> watched = {nullptr};
  for (const auto& [descriptor, each] : watched_) {
    const int events = (each->readable ? POLLIN : 0) | (each->writable ? POLLOUT : 0);
    if (events == 0) continue;
    polled.push_back({descriptor, static_cast<short>(events), 0});
    watched.push_back(each);
  }
  const int ready = poll(polled.data(), polled.size(), timeout);
  if (ready < 0) {
    PARTITA_CHECK(errno == EINTR);
    return false;
  }
  if (ready == 0 && timeout > 0) EndForSilence();
  bool any = false;
  for (std::size_t i = 1; i < polled.size() && !Stopped(); ++i) {
    const auto run = [&](int events, std::shared_ptr<const Task> Watched::*direction) {
      const std::shared_ptr<const Task> task = (*watched[i]).*direction;
      if ((polled[i].revents & (events | POLLERR | POLLHUP)) == 0 || task == nullptr) return;
      ++*watched[i]->counter;
      any = true;
      Call(*task);
    };
    run(POLLIN, &Watched::readable);
    run(POLLOUT, &Watched::writable);
  }
  return any;
}

void FakeLoop::RunUntilIdle() {
  for (int round = 0; !Stopped(); ++round) {
    PARTITA_CHECK(round < kMostRounds);
    const bool posted = RunPosted();
    if (Stopped()) return;
    const bool timer = RunOneTimer();
    if (Stopped()) return;
    if (!RunDescriptors(0) && !posted && !timer) return;
  }
}

void FakeLoop::Advance(Duration time) {
  const auto end = clock_.Now() + time;
  RunUntilIdle();
  while (!Stopped() && !timers_.empty() && timers_.begin()->first.first <= end) {
    clock_.Move(timers_.begin()->first.first - clock_.Now());
    RunUntilIdle();
  }
  if (clock_.Now() < end) clock_.Move(end - clock_.Now());
  RunUntilIdle();
}

void FakeLoop::Jump(Duration time) {
  clock_.Move(time);
  RunUntilIdle();
}

void FakeLoop::EndForSilence() {
  std::string text = fmt::format("the loop has heard of nothing for {} s, its clock stands still;",
                                 kLongestSilence / 1000);
  for (const auto& [name, in] : ArmedTimers())
    text += fmt::format(" timer {} in {} ms;", name,
                        std::chrono::duration_cast<std::chrono::milliseconds>(in).count());
  for (const auto& [descriptor, watched] : watched_)
    text += fmt::format(" descriptor {} of {};", descriptor, watched->name);
  const std::lock_guard lock(mutex_);
  fmt::print(stderr, "{} {} posts are left\n", text, posted_.size());
  std::abort();
}

void FakeLoop::RunUntil(const std::function<bool()>& condition) {
  for (;;) {
    RunUntilIdle();
    if (condition() || Stopped()) return;
    RunDescriptors(kLongestSilence);
  }
}

void FakeLoop::Run() {
  for (;;) {
    RunUntilIdle();
    if (Stopped()) break;
    if (timers_.empty())
      RunDescriptors(kLongestSilence);
    else
      clock_.Move(timers_.begin()->first.first - clock_.Now());
  }
  const std::lock_guard lock(mutex_);
  stopped_ = false;
}

void FakeLoop::Raise(int signal) {
  bool wanted = false;
  for (const std::shared_ptr<Signals>& each : std::vector(signals_)) {
    if (std::find(each->signals.begin(), each->signals.end(), signal) == each->signals.end())
      continue;
    wanted = true;
    Post([each, signal] {
      ++*each->counter;
      each->task(signal);
    });
  }
  PARTITA_CHECK(wanted);
}

std::vector<std::pair<std::string, Duration>> FakeLoop::ArmedTimers() const {
  std::vector<std::pair<std::string, Duration>> armed;
  for (const auto& [due, timer] : timers_)
    armed.emplace_back(timer->name, due.first - clock_.Now());
  return armed;
}

}  // namespace partita::net::testing
