// The one thread that talks to the driver. A driver call can block for ever in the kernel, so every
// job has limits: past them its thread is given up, and a fresh one takes the rest of the work.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace partita::hw::nvml {

// Which driver call a job is in, and since when; written by the job, read by whoever waits for it.
class CallWatch {
 public:
  explicit CallWatch(std::chrono::nanoseconds limit) : limit_(limit) {}

  // To be asked before each driver call. False: nobody waits for this job any more and another
  // thread has its place, so the driver must not be called. `function` must live for ever.
  [[nodiscard]] bool Enter(const char* function) { return Enter(function, limit_); }
  // The same with a limit of its own, for calls that may wake a sleeping GPU.
  [[nodiscard]] bool Enter(const char* function, std::chrono::nanoseconds limit);
  void Leave() { deadline_ns_.store(kNoCall, std::memory_order_release); }

 private:
  friend class Worker;
  static constexpr std::int64_t kNoCall = INT64_MAX;

  const std::chrono::nanoseconds limit_;  // of a call that has none of its own
  std::atomic<const char*> function_ = nullptr;
  std::atomic<std::int64_t> limit_ns_ = 0;           // of the call
  std::atomic<std::int64_t> deadline_ns_ = kNoCall;  // of the call, on the steady clock
  std::atomic<bool> abandoned_ = false;
};

class Worker {
 public:
  struct Limits {
    std::chrono::nanoseconds call;  // one driver call
    std::chrono::nanoseconds job;   // the whole job, however quick its calls
  };
  enum class Outcome : std::uint8_t {
    kDone,
    kHung,         // past a limit; the GPU is in quarantine from now on
    kQuarantined,  // not run: an earlier job for this GPU has not come back yet
    kStuck,        // not run: a job that named no GPU has not come back, so nothing would
  };
  struct Report {
    Outcome outcome;
    // kHung: the call that did not come back and the time it was given, if it was in one.
    std::string function;
    std::chrono::nanoseconds limit{0};
  };
  using Job = std::function<void(CallWatch&)>;

  Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  // Waits for the thread in service, which is idle unless another thread is inside Run. Threads
  // that were given up are left to themselves.
  ~Worker();

  // Runs the job on the driver thread and waits for it, or for its limits. `gpu` is what the job is
  // about; empty means no GPU in particular. After kHung the job may still be running: it must own,
  // or share, everything that it touches. Any thread may call; jobs run one after another.
  // Quarantine ends when the job that caused it comes back.
  Report Run(const std::string& gpu, const Limits& limits, Job job);

  // How many threads were given up and have not come back.
  [[nodiscard]] std::size_t abandoned() const;

 private:
  struct Task;
  struct State;

  static void Serve(const std::shared_ptr<State>& state, std::uint64_t lane);
  void StartThread();
  Report Abandon(Task& task);

  // Shared with the threads, also with those that were given up.
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace partita::hw::nvml
