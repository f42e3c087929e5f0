#include "hw/nvml/lanes.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "hw/nvml/await.h"
#include "hw/nvml/quiet_thread.h"
#include "hw/nvml/running_time.h"

namespace partita::hw::nvml {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

// How often a job in flight is looked at, where nothing falls due before.
constexpr nanoseconds kTick = milliseconds(50);
constexpr nanoseconds kShortestStep = milliseconds(1);
constexpr nanoseconds kSlack = milliseconds(50);

// "driver/07:00.0": the kernel keeps 15 characters, and the end of an address tells most.
std::string LaneName(const std::string& gpu) {
  constexpr std::size_t kRoom = 8;
  return "driver/" + (gpu.size() > kRoom ? gpu.substr(gpu.size() - kRoom + 1) : gpu);
}

}  // namespace

struct Lanes::Task {
  Task(std::string about, const JobLimits& its_limits, Job its_job, Done its_done)
      : gpu(std::move(about)),
        limits(its_limits),
        watch(its_limits.call),
        job(std::move(its_job)),
        done(std::move(its_done)) {}

  const std::string gpu;
  const JobLimits limits;
  CallWatch watch;
  Job job;
  Done done;  // of whoever ends the task: its thread, or the watch that gives it up

  // Guarded by State::mutex.
  std::optional<Outcome> refusal;
  bool given_up = false;
  bool seen = false;         // by the watch; what it ran before that does not count
  nanoseconds ran{0};        // since it was seen
  std::uint64_t serial = 0;  // of the call at the last look; 0: in none
  nanoseconds in_call{0};    // in that call
};

struct Lanes::State : std::enable_shared_from_this<Lanes::State> {
  using Tasks = std::deque<std::shared_ptr<Task>>;
  using Lock = std::unique_lock<std::mutex>;
  struct Lane {
    std::shared_ptr<Task> running;  // absent for moments between two
    Tasks waiting;
    [[nodiscard]] bool given_up() const { return running && running->given_up; }
  };
  struct End {
    std::shared_ptr<Task> task;
    Report report;
  };

  explicit State(const Options& its_options) : options(its_options) {}

  const Options options;
  mutable std::mutex mutex;
  std::condition_variable work;   // queue or stopping changed
  std::condition_variable watch;  // something runs again, or stopping
  std::condition_variable quiet;  // a job or a lane ended
  // All guarded by `mutex`.
  Tasks queue;
  std::shared_ptr<Task> current;  // of the worker
  std::map<std::string, Lane> lanes;
  std::set<std::string> slow;  // GPUs whose last job was late: the next begins in a lane
  std::uint64_t service = 0;   // which thread is the worker; another that comes back is a lane
  bool stopping = false;
  bool watch_idle = false;
  std::thread worker, watcher;

  [[nodiscard]] base::Result<void> StartWorker();
  void Serve(std::uint64_t me);
  void ServeLane(Lock& lock, const std::shared_ptr<Task>& first);
  void RunJob(Lock& lock, const std::shared_ptr<Task>& task);
  static void Finish(Lock& lock, const std::shared_ptr<Task>& task, const Report& report);
  [[nodiscard]] std::optional<Outcome> Refusal(const Task& task) const;
  void Queue(std::shared_ptr<Task> task);

  void Watch();
  void TellThatNobodyServes(std::vector<End>& ends);
  [[nodiscard]] bool Unserved() const { return !worker.joinable() && !queue.empty(); }
  [[nodiscard]] std::vector<std::shared_ptr<Task>> Watched() const;
  [[nodiscard]] nanoseconds NextLook() const;
  void Look(nanoseconds counted, std::vector<End>& ends);
  bool MakeLane(const std::shared_ptr<Task>& task);
  void LeaveWorkerTo(const std::shared_ptr<Task>& task);
  void GiveUp(const std::shared_ptr<Task>& task,
              const std::optional<CallWatch::Call>& call,
              std::vector<End>& ends);
};

base::Result<void> Lanes::State::StartWorker() {
  TRY(started,
      TryQuietThread("driver", [self = shared_from_this(), me = service + 1] { self->Serve(me); }));
  ++service;
  worker = std::move(started);
  return {};
}

// Why a job cannot run now.
std::optional<Outcome> Lanes::State::Refusal(const Task& task) const {
  if (task.refusal) return task.refusal;
  if (stopping) return Outcome::kStopped;
  const auto given_up = [&](const std::string& key) {
    const auto lane = lanes.find(key);
    return lane != lanes.end() && lane->second.given_up();
  };
  if (given_up("")) return Outcome::kStuck;
  if (given_up(task.gpu)) return Outcome::kQuarantined;
  return std::nullopt;
}

// Where it waits for its turn; one that is refused, for somebody to tell.
void Lanes::State::Queue(std::shared_ptr<Task> task) {
  task->refusal = Refusal(*task);
  const auto lane = lanes.find(task->gpu);
  if (!task->refusal && lane != lanes.end()) {
    if (lane->second.waiting.size() < options.most_waiting) {
      lane->second.waiting.push_back(std::move(task));
      return;
    }
    task->refusal = Outcome::kCrowded;
  }
  queue.push_back(std::move(task));
}

void Lanes::State::Finish(Lock& lock, const std::shared_ptr<Task>& task, const Report& report) {
  lock.unlock();
  task->job = nullptr;
  task->done(report);
  task->done = nullptr;
  lock.lock();
}

void Lanes::State::RunJob(Lock& lock, const std::shared_ptr<Task>& task) {
  if (watch_idle) watch.notify_one();
  lock.unlock();
  task->job(task->watch);
  // What the job holds goes before anyone hears that it is done.
  task->job = nullptr;
  lock.lock();
  quiet.notify_all();
}

void Lanes::State::Serve(std::uint64_t me) {
  Lock lock(mutex);
  for (;;) {
    work.wait(lock, [this] { return stopping || !queue.empty(); });
    if (queue.empty()) return;
    const std::shared_ptr<Task> task = std::move(queue.front());
    queue.pop_front();
    if (const std::optional<Outcome> refusal = Refusal(*task)) {
      Finish(lock, task, {*refusal, "", {}});
      continue;
    }
    current = task;
    // Or the others would wait for it each time until it is late once more.
    if (slow.contains(task->gpu)) MakeLane(task);
    RunJob(lock, task);
    if (service != me) return ServeLane(lock, task);
    current.reset();
    Finish(lock, task, {});
  }
}

// The job was late, or is given up; this thread has no other GPU any more.
void Lanes::State::ServeLane(Lock& lock, const std::shared_ptr<Task>& first) {
  const std::string gpu = first->gpu;
  Lane& lane = lanes.at(gpu);
  for (std::shared_ptr<Task> task = first; task;) {
    if (task->given_up) break;  // whoever waited for it, and waited here, was told
    lane.running.reset();
    if (task->ran < options.late) slow.erase(gpu);
    Finish(lock, task, {});
    task.reset();
    while (!task && !lane.waiting.empty()) {
      task = std::move(lane.waiting.front());
      lane.waiting.pop_front();
      const std::optional<Outcome> refusal = Refusal(*task);
      if (!refusal) continue;
      Finish(lock, task, {*refusal, "", {}});
      task.reset();
    }
    if (!task) break;
    lane.running = task;
    RunJob(lock, task);
  }
  lanes.erase(gpu);
  quiet.notify_all();
}

std::vector<std::shared_ptr<Lanes::Task>> Lanes::State::Watched() const {
  std::vector<std::shared_ptr<Task>> tasks;
  if (current) tasks.push_back(current);
  for (const auto& [gpu, lane] : lanes) {
    if (lane.running && !lane.given_up()) tasks.push_back(lane.running);
  }
  return tasks;
}

void Lanes::State::Watch() {
  Lock lock(mutex);
  RunningTime time(kSlack);
  for (;;) {
    std::vector<End> ends;
    if (Watched().empty()) {
      if (stopping && !Unserved()) return;
      watch_idle = true;
      watch.wait(lock, [this] { return stopping || !Watched().empty() || Unserved(); });
      watch_idle = false;
    } else {
      const nanoseconds step = NextLook();
      time.Begin(Clock::now(), step);
      watch.wait_for(lock, step);
      Look(time.End(Clock::now()), ends);
    }
    TellThatNobodyServes(ends);
    for (const End& end : ends) {
      // The job of one that was given up is still its thread's.
      lock.unlock();
      if (!end.task->given_up) end.task->job = nullptr;
      end.task->done(end.report);
      end.task->done = nullptr;
      lock.lock();
    }
  }
}

// The worker is with a call that hangs. Where no other thread is to be had, who waits is told.
void Lanes::State::TellThatNobodyServes(std::vector<End>& ends) {
  if (!Unserved() || (!stopping && StartWorker().ok())) return;
  Tasks waiting;
  std::swap(queue, waiting);
  for (std::shared_ptr<Task>& each : waiting) {
    const Outcome refusal = Refusal(*each).value_or(Outcome::kNoThread);
    ends.push_back({std::move(each), {refusal, "", {}}});
  }
}

// Until something may fall due. A call that begins after this look cannot be late before its own
// limit has passed.
nanoseconds Lanes::State::NextLook() const {
  nanoseconds step = kTick;
  for (const std::shared_ptr<Task>& task : Watched()) {
    const std::optional<CallWatch::Call> call = task->watch.Current();
    step = std::min(step, task->limits.job - task->ran);
    step = std::min(step, call ? call->limit - task->in_call : task->limits.call);
    // One that is late already waits for a thread that can be started.
    if (task == current && task->ran < options.late)
      step = std::min(step, options.late - task->ran);
  }
  return std::max(step, kShortestStep);
}

void Lanes::State::Look(nanoseconds counted, std::vector<End>& ends) {
  for (const std::shared_ptr<Task>& task : Watched()) {
    const std::optional<CallWatch::Call> call = task->watch.Current();
    const std::uint64_t serial = call ? call->serial : 0;
    // What began since the last look ran for a part of the step only, nobody knows which.
    if (std::exchange(task->seen, true)) task->ran += counted;
    if (std::exchange(task->serial, serial) == serial && call) {
      task->in_call += counted;
    } else {
      task->in_call = nanoseconds(0);
    }
    if (task->ran >= task->limits.job || (call && task->in_call >= call->limit)) {
      GiveUp(task, call, ends);
    } else if (task == current && task->ran >= options.late) {
      MakeLane(task);
    }
  }
}

// The worker's thread stays with its job, and a fresh one takes the others. False where none can be
// started: then everything stays as it is.
bool Lanes::State::MakeLane(const std::shared_ptr<Task>& task) {
  std::thread busy = std::move(worker);
  const bool started = StartWorker().ok();
  std::swap(busy, worker);
  if (!started) return false;
  LeaveWorkerTo(task);
  worker = std::move(busy);
  return true;
}

void Lanes::State::LeaveWorkerTo(const std::shared_ptr<Task>& task) {
  lanes[task->gpu].running = task;
  slow.insert(task->gpu);
  current.reset();
  // Jobs of one GPU keep their order, also against those that come from now on.
  Tasks others;
  std::swap(queue, others);
  for (std::shared_ptr<Task>& each : others) Queue(std::move(each));
  pthread_setname_np(worker.native_handle(), LaneName(task->gpu).c_str());
  worker.detach();
}

void Lanes::State::GiveUp(const std::shared_ptr<Task>& task,
                          const std::optional<CallWatch::Call>& call,
                          std::vector<End>& ends) {
  if (task == current && !MakeLane(task)) {
    LeaveWorkerTo(task);
    ++service;
  }
  task->given_up = true;
  task->watch.Abandon();
  ends.push_back({task, {Outcome::kHung, "", {}}});
  if (call) {
    ends.back().report.function = call->function;
    ends.back().report.limit = call->limit;
  }
  Tasks waiting;
  std::swap(lanes.at(task->gpu).waiting, waiting);
  for (std::shared_ptr<Task>& each : waiting) {
    const Outcome refusal = Refusal(*each).value_or(Outcome::kQuarantined);
    ends.push_back({std::move(each), {refusal, "", {}}});
  }
  quiet.notify_all();
}

Lanes::Lanes() : Lanes(Options()) {}

Lanes::Lanes(const Options& options) : state_(std::make_shared<State>(options)) {
  // Whoever wants to use it hears why it did not.
  (void)Start();
}

base::Result<void> Lanes::Start() {
  const std::scoped_lock lock(state_->mutex);
  if (state_->watcher.joinable()) return {};
  if (!state_->worker.joinable()) TRY_VOID(state_->StartWorker());
  TRY(watcher, TryQuietThread("driver-watch", [state = state_] { state->Watch(); }));
  state_->watcher = std::move(watcher);
  return {};
}

Lanes::~Lanes() {
  {
    State::Lock lock(state_->mutex);
    state_->stopping = true;
    state_->work.notify_all();
    state_->watch.notify_all();
    state_->quiet.wait(lock, [this] {
      return !state_->current &&
             std::all_of(state_->lanes.begin(), state_->lanes.end(),
                         [](const auto& each) { return each.second.given_up(); });
    });
  }
  // In this order: the watch may start a worker.
  if (state_->watcher.joinable()) state_->watcher.join();
  if (state_->worker.joinable()) state_->worker.join();
}

void Lanes::Submit(std::string gpu, const JobLimits& limits, Job job, Done done) {
  const auto task = std::make_shared<Task>(std::move(gpu), limits, std::move(job), std::move(done));
  State::Lock lock(state_->mutex);
  if (state_->stopping) {
    // From a completion, while this object goes: there may be no thread left to tell it.
    State::Finish(lock, task, {Outcome::kStopped, "", {}});
    return;
  }
  state_->Queue(task);
  if (state_->Unserved()) state_->watch.notify_one();
  lock.unlock();  // or the worker would wake only to wait for it
  state_->work.notify_one();
}

Lanes::Report Lanes::Run(std::string gpu, const JobLimits& limits, Job job) {
  return Await<Report>(
      [&](Done done) { Submit(std::move(gpu), limits, std::move(job), std::move(done)); });
}

std::vector<CallAt> Lanes::Running() const {
  const std::scoped_lock lock(state_->mutex);
  std::vector<CallAt> calls;
  const auto add = [&](const Task& task) {
    const std::optional<CallWatch::Call> call = task.watch.Current();
    calls.push_back({task.gpu, call ? call->function : "", task.given_up});
  };
  if (state_->current) add(*state_->current);
  for (const auto& [gpu, lane] : state_->lanes) {
    if (lane.running) add(*lane.running);
  }
  std::stable_sort(calls.begin(), calls.end(),
                   [](const CallAt& a, const CallAt& b) { return a.gpu < b.gpu; });
  return calls;
}

std::size_t Lanes::lanes() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->lanes.size();
}

}  // namespace partita::hw::nvml
