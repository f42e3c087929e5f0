// The one session with the driver's library in this process, and who may use it when.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "hw/nvml/call_watch.h"
#include "hw/nvml/lanes.h"
#include "hw/nvml/library_search.h"
#include "hw/nvml/session.h"
#include "model/ids.h"

namespace partita::hw::nvml {

// The one key of a GPU in quarantine and lanes.
[[nodiscard]] std::string KeyOf(const model::PciAddress& gpu);

// Any thread may use it. The session is opened by the first job and stays open until Release,
// Reopen, Exclusive or the end; while it is open the driver counts this process as a user of every
// GPU. Every opening is a new generation, in which handles of an earlier one are stale.
class Driver {
  struct State;

 public:
  struct Options {
    LibrarySearch search;
    std::chrono::milliseconds call{2000};  // of one driver call, unless a job says otherwise
    // Of a call that may wake GPUs, which takes seconds each without persistence mode: opening the
    // library, looking a GPU up, and closing it again.
    std::chrono::milliseconds attach{30000};
    std::chrono::milliseconds release{5000};  // how long Exclusive waits for jobs that run
    Lanes::Options lanes;
  };
  struct Report {
    Outcome outcome = Outcome::kDone;
    // kHung: the call that did not come back and the time it was given, if it was in one.
    std::string function;
    std::chrono::nanoseconds limit{0};
    std::optional<base::Error> error;  // kNoDriver: why; kTimeout if its library hangs
    [[nodiscard]] bool Done() const { return outcome == Outcome::kDone; }
  };
  using Job = std::function<void(const Session&, CallWatch&)>;
  using Done = std::function<void(const Report&)>;

  // The driver is nobody's in this process: the session is closed, no node of the driver is open
  // and no job runs until this is given back, which its end does.
  class Lease {
   public:
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();

   private:
    friend class Driver;
    explicit Lease(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
  };

  // The session, for a thread of the caller's own that waits in it (for events) beside the jobs. As
  // long as it lives the session stays open: look at `wanted` between two calls.
  class Share {
   public:
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share();
    [[nodiscard]] const Session& session() const { return *session_; }
    // Somebody waits for the session to close: free what was made in it and let go.
    [[nodiscard]] bool wanted() const;

   private:
    friend class Driver;
    Share(std::shared_ptr<State> state, std::string name, std::function<void()> wanted);
    std::shared_ptr<State> state_;
    std::shared_ptr<const Session> session_;
    const std::string name_;
    const std::function<void()> wanted_;
    bool overdue_ = false;  // it was waited for in vain; guarded by the state's mutex
  };

  explicit Driver(Options options);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  // Closes the session, unless a call that was given up is still in it: then that call's thread
  // does once it is back. Jobs that have not begun end as kStopped.
  ~Driver();

  [[nodiscard]] const Options& options() const;
  // For a job that looks a GPU up and makes usual calls, and one that may take so much longer.
  [[nodiscard]] JobLimits LimitsFor(std::chrono::nanoseconds longest = {}) const;

  // Runs the job on a thread of this object. `gpu` is KeyOf the GPU it is about, or empty for none.
  // `done` is called exactly once, on a thread of this object with no lock held (or by ~Driver, or
  // at once where no thread can be started: kNoDriver); it must not block, so a program with a loop
  // posts from it. After kHung the job may still be running: it must own, or share, all that it
  // touches. A job that comes while somebody waits for exclusive access waits too, and runs if that
  // is refused; while the access is held it is refused as kReleased.
  void Submit(std::string gpu, const JobLimits& limits, Job job, Done done);
  // The same for callers that can wait: one-shot commands.
  [[nodiscard]] Report Run(std::string gpu, const JobLimits& limits, Job job);

  // Lets no more jobs in, waits for those that run, closes the session within the limit for
  // attaching, and looks that this process has no node of the driver open. Errors: kBusy with the
  // GPUs and functions of calls that have not come back within `release`, and then everything goes
  // on as before; kBusy where another has, or waits for, the access; kTimeout where closing hangs.
  // Blocks, as Release and Reopen do: not in jobs nor completions.
  [[nodiscard]] base::Result<Lease> Exclusive() { return Exclusive(options().release); }
  [[nodiscard]] base::Result<Lease> Exclusive(std::chrono::nanoseconds release);
  // Whether calls that were given up, or a share that did not go when it was asked to, would keep
  // the session from closing: waits for them as Exclusive does, with its error, and closes nothing.
  // For whoever begins what only a closed session can finish.
  [[nodiscard]] base::Result<void> AwaitOverdue();
  // The same as Exclusive for a loop: `done` is called exactly once, on a thread of this object.
  void SubmitExclusive(std::chrono::nanoseconds release,
                       std::function<void(base::Result<Lease>)> done);

  // Exclusive access that is given back before `done` is called, so that whoever asks from there on
  // is answered in a new session.
  void SubmitReopen(std::chrono::nanoseconds release, std::function<void(base::Result<void>)> done);

  // Closes the session; the next job opens another. Where a call that was given up keeps it open it
  // is closed once that call is back, and the error says so at once.
  [[nodiscard]] base::Result<void> Release();
  // The same, for one session alone: nothing to do where another is open by now. For a session
  // whose driver was replaced, or that does not know of all GPUs.
  [[nodiscard]] base::Result<void> Reopen(std::uint64_t generation);

  // Null where no session is open, or the one that is shall close: a job opens the next. `name` is
  // for the error of an Exclusive that waits in vain; `wanted` is called when one begins to wait,
  // on any thread, and must neither block nor end the share. All shares go before the driver does.
  [[nodiscard]] std::unique_ptr<Share> ShareSession(std::string name, std::function<void()> wanted);

  // Who would keep the session from closing, each as part of a sentence: calls that were given up,
  // "nvmlDeviceGetName on GPU 0000:07:00.0", and shares that did not go when they were asked to.
  [[nodiscard]] std::vector<std::string> Overdue() const;
  // Which calls run now, also those that were given up.
  [[nodiscard]] std::vector<CallAt> Running() const { return lanes_.Running(); }
  [[nodiscard]] std::size_t lanes() const { return lanes_.lanes(); }

 private:
  [[nodiscard]] base::Result<void> CloseIf(const std::function<bool(const Session&)>& meant);

  std::shared_ptr<State> state_;  // shared with jobs, also with those that were given up
  Lanes lanes_;
};

}  // namespace partita::hw::nvml
