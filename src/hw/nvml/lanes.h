// The threads that talk to the driver. A driver call can take seconds, or block for ever in the
// kernel: one worker serves all GPUs, and a GPU that is slow gets a thread of its own for as long
// as it is.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/nvml/call_watch.h"

namespace partita::hw::nvml {

struct JobLimits {
  std::chrono::nanoseconds call;  // one driver call
  std::chrono::nanoseconds job;   // the whole job, however quick its calls
};

enum class Outcome : std::uint8_t {
  kDone,         // the job ran to its end
  kHung,         // past a limit and given up; its GPU is in quarantine until the call is back
  kQuarantined,  // not run: an earlier job for this GPU was given up and is not back
  kStuck,        // not run: a job that named no GPU was given up and is not back
  kCrowded,      // not run: too many wait for this GPU, which is slow
  kReleased,     // not run: the driver is released, see Driver::Exclusive
  kNoDriver,     // not run: the driver's library cannot be opened
  kStopped,      // not run: it came too late, the driver's owner is going
  kNoThread,     // not run: the worker was given up with its job, and no other can be started
};

// Where a job is, or was when it was given up.
struct CallAt {
  std::string gpu;       // its key; empty: no GPU in particular
  std::string function;  // empty: in no driver call
  bool given_up = false;
  bool operator==(const CallAt&) const = default;
};

class Lanes {
 public:
  struct Report {
    Outcome outcome = Outcome::kDone;
    // kHung: the call that did not come back and the time it was given, if it was in one.
    std::string function;
    std::chrono::nanoseconds limit{0};
  };
  struct Options {
    // A job that runs for so long makes its thread the lane of its GPU: long enough that no healthy
    // GPU gets there, short enough that nobody waits noticeably for another's.
    std::chrono::nanoseconds late = std::chrono::milliseconds(100);
    std::size_t most_waiting = 32;  // jobs in one lane, beside the one that runs
  };
  using Job = std::function<void(CallWatch&)>;
  using Done = std::function<void(const Report&)>;

  Lanes();
  explicit Lanes(const Options& options);
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  // Jobs that have not begun end as kStopped; those that run are waited for, within their limits.
  // Threads that were given up are left to themselves.
  ~Lanes();

  // Whether there are threads to run jobs on. Where there were none this starts them: without an
  // error from here nothing may be submitted.
  [[nodiscard]] base::Result<void> Start();

  // Any thread may submit. `gpu` is what the job is about; empty means no GPU in particular. Jobs
  // of one GPU run one after another in the order of their submission. `done` is called exactly
  // once, on a thread of this object, with no lock held, after the job is gone with everything it
  // holds; it must not block. After kHung the job may still be running: it must own, or share, all
  // that it touches. Limits count the time in which this process ran.
  void Submit(std::string gpu, const JobLimits& limits, Job job, Done done);
  // The same for callers that can wait.
  [[nodiscard]] Report Run(std::string gpu, const JobLimits& limits, Job job);

  // The jobs that run now, in the order of their GPUs, also those that were given up.
  [[nodiscard]] std::vector<CallAt> Running() const;
  // GPUs with a thread of their own, also those in quarantine.
  [[nodiscard]] std::size_t lanes() const;

 private:
  struct Task;
  struct State;

  // Shared with the threads, also with those that were given up.
  std::shared_ptr<State> state_;
};

}  // namespace partita::hw::nvml
