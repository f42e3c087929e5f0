#include "hw/nvml/worker.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace partita::hw::nvml {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point After(std::chrono::nanoseconds limit) {
  const Clock::time_point now = Clock::now();
  return limit < Clock::time_point::max() - now ? now + limit : Clock::time_point::max();
}

}  // namespace

bool CallWatch::Enter(const char* function, std::chrono::nanoseconds limit) {
  if (abandoned_.load(std::memory_order_acquire)) return false;
  function_.store(function, std::memory_order_relaxed);
  limit_ns_.store(limit.count(), std::memory_order_relaxed);
  deadline_ns_.store(After(limit).time_since_epoch().count(), std::memory_order_release);
  return true;
}

struct Worker::Task {
  enum class Phase : std::uint8_t { kQueued, kRunning, kDone, kAbandoned, kRefused };

  Task(std::string about, const Limits& its_limits, Job its_job)
      : gpu(std::move(about)),
        limits(its_limits),
        job(std::move(its_job)),
        watch(its_limits.call) {}

  const std::string gpu;
  const Limits limits;
  Job job;
  CallWatch watch;
  // Guarded by State::mutex.
  Phase phase = Phase::kQueued;
  Clock::time_point job_deadline;
};

struct Worker::State {
  std::mutex mutex;
  std::condition_variable work;      // queue, lane or stopping changed
  std::condition_variable progress;  // a task changed its phase
  // All guarded by `mutex`.
  std::deque<std::shared_ptr<Task>> queue;
  std::uint64_t lane = 0;  // which thread is in service; a thread of another lane ends
  bool stopping = false;
  std::set<std::string> quarantined;  // GPUs of the threads that were given up; "": no GPU

  // Why a job about this GPU cannot run now.
  [[nodiscard]] std::optional<Outcome> Refusal(const std::string& gpu) const {
    if (quarantined.contains("")) return Outcome::kStuck;
    if (quarantined.contains(gpu)) return Outcome::kQuarantined;
    return std::nullopt;
  }
};

Worker::Worker() : state_(std::make_shared<State>()) { StartThread(); }

Worker::~Worker() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->work.notify_all();
  thread_.join();
}

void Worker::StartThread() {
  // Signals belong to the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([state = state_, lane = state_->lane] {
    pthread_setname_np(pthread_self(), "driver");
    Serve(state, lane);
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Worker::Serve(const std::shared_ptr<State>& state, std::uint64_t lane) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->work.wait(
        lock, [&] { return state->stopping || state->lane != lane || !state->queue.empty(); });
    if (state->stopping || state->lane != lane) return;

    const std::shared_ptr<Task> task = std::move(state->queue.front());
    state->queue.pop_front();
    if (state->Refusal(task->gpu)) {
      task->phase = Task::Phase::kRefused;
      state->progress.notify_all();
      continue;
    }
    task->phase = Task::Phase::kRunning;
    task->job_deadline = After(task->limits.job);
    // Nobody is told: whoever waits looks again before this job can be late.
    lock.unlock();
    task->job(task->watch);
    // What the job holds goes before anyone hears that it is done.
    task->job = nullptr;
    lock.lock();
    if (task->phase == Task::Phase::kAbandoned) {
      state->quarantined.erase(task->gpu);
      return;
    }
    task->phase = Task::Phase::kDone;
    state->progress.notify_all();
  }
}

Worker::Report Worker::Run(const std::string& gpu, const Limits& limits, Job job) {
  std::unique_lock lock(state_->mutex);
  if (const std::optional<Outcome> refusal = state_->Refusal(gpu)) return {*refusal, ""};
  const auto task = std::make_shared<Task>(gpu, limits, std::move(job));
  state_->queue.push_back(task);
  lock.unlock();  // or the driver thread would wake only to wait for it
  state_->work.notify_one();
  lock.lock();

  for (;;) {
    switch (task->phase) {
      case Task::Phase::kDone: return {Outcome::kDone, ""};
      case Task::Phase::kAbandoned:
      case Task::Phase::kRefused: return {state_->Refusal(gpu).value_or(Outcome::kStuck), ""};
      case Task::Phase::kQueued:
        // Whoever waits for the job before this one sees to it that the queue moves. This one can
        // begin at any moment from now on, and cannot be late before its limits have passed.
        state_->progress.wait_until(lock, After(std::min(limits.call, limits.job)));
        continue;
      case Task::Phase::kRunning: break;
    }
    const Clock::time_point call_deadline{
        Clock::duration(task->watch.deadline_ns_.load(std::memory_order_acquire))};
    const Clock::time_point deadline = std::min(task->job_deadline, call_deadline);
    if (Clock::now() >= deadline) return Abandon(*task);
    // A call that begins after this look cannot be late before its own limit has passed.
    state_->progress.wait_until(lock, std::min(deadline, After(limits.call)));
  }
}

// With the mutex held.
Worker::Report Worker::Abandon(Task& task) {
  const bool in_call =
      task.watch.deadline_ns_.load(std::memory_order_acquire) != CallWatch::kNoCall;
  const char* function = task.watch.function_.load(std::memory_order_relaxed);
  task.phase = Task::Phase::kAbandoned;
  task.watch.abandoned_.store(true, std::memory_order_release);
  state_->quarantined.insert(task.gpu);
  ++state_->lane;
  thread_.detach();
  StartThread();
  if (!in_call || function == nullptr) return {Outcome::kHung, ""};
  return {Outcome::kHung, function,
          std::chrono::nanoseconds(task.watch.limit_ns_.load(std::memory_order_relaxed))};
}

std::size_t Worker::abandoned() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->quarantined.size();
}

}  // namespace partita::hw::nvml
