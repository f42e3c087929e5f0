#include "hw/nvml/driver_state.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw/nvml/open_nodes.h"
#include "hw/nvml/quiet_thread.h"
#include "hw/nvml/running_time.h"

namespace partita::hw::nvml {
namespace {

using std::chrono::nanoseconds;

// Steps of a wait that counts only the time in which this process runs.
constexpr nanoseconds kStep = std::chrono::milliseconds(50);

base::Error HungError(std::string_view function, nanoseconds limit) {
  return base::MakeError(base::ErrorCode::kTimeout, "{} did not come back within {:g} s", function,
                         std::chrono::duration<double>(limit).count())
      .WithHint("see the kernel log, then reset the GPU or reboot the node");
}

// Why the library could not be opened, or closed.
base::Error LibraryError(const Lanes::Report& report) {
  if (report.outcome == Outcome::kHung) {
    return HungError(report.function.empty() ? "the driver" : report.function, report.limit);
  }
  if (report.outcome == Outcome::kNoThread)
    return base::Error(base::ErrorCode::kUnavailable, "no thread could be started for the driver")
        .WithHint("end some programs, or allow more: ulimit -u, pids.max of the cgroup");
  return base::MakeError(base::ErrorCode::kTimeout, "the driver does not come back from any call")
      .WithHint("see the kernel log, then reset the GPU or reboot the node");
}

std::string Describe(const CallAt& call) {
  const std::string what = call.function.empty() ? "a job" : call.function;
  const std::string where = call.gpu.empty() ? "" : fmt::format(" on GPU {}", call.gpu);
  return fmt::format("{}{}", what, where);
}

}  // namespace

// The session that an opening made. If that was given up, its job is the one that closes it.
struct Driver::State::Opening {
  std::mutex mutex;
  bool given_up = false;
  std::optional<base::Result<std::shared_ptr<Session>>> result;
};

void Driver::State::Submit(Pending job) {
  if (leased) return Refuse(std::move(job), {Outcome::kReleased, "", {}, std::nullopt});
  if (phase == Phase::kOpen && !draining) return Admit(std::move(job));
  pending.push_back(std::move(job));
  if (phase == Phase::kClosed && !draining) Open();
}

void Driver::State::Admit(Pending job) {
  auto end =
      std::make_shared<UseEnd>(shared_from_this(), std::make_shared<Use>(Use{.session = session}));
  const std::shared_ptr<Use> use = end->use;
  ++uses;
  // Moved, not copied: the use ends with the job, which may be over before this returns, and its
  // end takes the mutex.
  auto run = [state = this, end = std::move(end), job = std::move(job.job)](CallWatch& watch) {
    {
      const std::scoped_lock lock(state->mutex);
      end->use->skipped = state->stopping;
      if (state->stopping) return;
    }
    job(*end->use->session, watch);
  };
  auto tell = [state = shared_from_this(), use,
               done = std::move(job.done)](const Lanes::Report& report) {
    if (report.outcome == Outcome::kHung) state->NoteGivenUp(*use);
    const bool skipped = report.outcome == Outcome::kDone && use->skipped;
    done({skipped ? Outcome::kStopped : report.outcome, report.function, report.limit,
          std::nullopt});
  };
  lanes->Submit(std::move(job.gpu), job.limits, std::move(run), std::move(tell));
}

// By way of the worker: completions come from there.
void Driver::State::Refuse(Pending job, Report report) {
  lanes->Submit(
      "", job.limits, [](CallWatch&) {},
      [done = std::move(job.done), report = std::move(report)](const Lanes::Report&) {
        done(report);
      });
}

// Whoever waited for the session, or for the end of a wait for its end.
void Driver::State::AdmitAll() {
  std::deque<Pending> waiting;
  std::swap(pending, waiting);
  for (Pending& each : waiting) Submit(std::move(each));
}

void Driver::State::Open() {
  phase = Phase::kOpening;
  const auto opening = std::make_shared<Opening>();
  const JobLimits limits{.call = options.call, .job = options.attach + 10 * options.call};
  lanes->Submit(
      "", limits,
      [opening, search = options.search, its_generation = ++generation,
       limit = nanoseconds(options.attach)](CallWatch& watch) {
        auto result = [&]() -> base::Result<std::shared_ptr<Session>> {
          TRY(library, Library::Open(search));
          return Session::Open(library, its_generation, limit, watch);
        }();
        const std::scoped_lock lock(opening->mutex);
        if (opening->given_up && result.ok()) return (*result)->Close(watch);
        opening->result.emplace(std::move(result));
      },
      [state = shared_from_this(), opening](const Lanes::Report& report) {
        state->Opened(report, *opening);
      });
}

void Driver::State::Opened(const Lanes::Report& report, Opening& opening) {
  Report failure{Outcome::kNoDriver, "", {}, std::nullopt};
  std::optional<base::Result<std::shared_ptr<Session>>> result;
  {
    const std::scoped_lock lock(opening.mutex);
    opening.given_up = true;
    std::swap(result, opening.result);
  }
  // It may have come back in the moment in which it was given up.
  if (!result) failure.error = LibraryError(report);
  if (result && !result->ok()) failure.error = result->error();
  std::deque<Pending> refused;
  {
    const std::scoped_lock lock(mutex);
    phase = failure.error ? Phase::kClosed : Phase::kOpen;
    if (failure.error) {
      std::swap(pending, refused);
    } else {
      session = **std::move(result);
      if (!draining) AdmitAll();
    }
    changed.notify_all();
  }
  for (Pending& each : refused) {
    each.job = nullptr;
    each.done(failure);
  }
}

void Driver::State::NoteGivenUp(Use& use) {
  const std::scoped_lock lock(mutex);
  if (use.ended) return;
  use.given_up = true;
  ++given_up;
  changed.notify_all();
}

void Driver::State::EndUse(Use& use) {
  std::shared_ptr<Session> last;
  {
    const std::scoped_lock lock(mutex);
    use.ended = true;
    --uses;
    if (use.given_up) --given_up;
    changed.notify_all();
    if (lanes == nullptr && uses == 0) std::swap(session, last);
    if (!stopping && retire && given_up == 0 && !draining && !leased) Retire();
  }
  if (!last) return;
  // Nobody else is left to do it, and this thread was given up anyway.
  CallWatch watch(options.attach);
  last->Close(watch);
}

void Driver::State::TellShares(Lock& lock) const {
  std::vector<std::function<void()>> wanted;
  for (const Share* share : shares) wanted.push_back(share->wanted_);
  lock.unlock();
  for (const std::function<void()>& each : wanted) {
    if (each) each();
  }
  lock.lock();
}

// False: it was not so within the time, in which we ran, as everywhere.
template <typename Condition>
bool Driver::State::WaitUntil(Lock& lock, nanoseconds limit, Condition condition) {
  nanoseconds waited{0};
  RunningTime time(kStep);
  while (!condition() && !stopping && waited < limit) {
    const nanoseconds step = std::min(kStep, limit - waited);
    time.Begin(std::chrono::steady_clock::now(), step);
    changed.wait_for(lock, step);
    waited += time.End(std::chrono::steady_clock::now());
  }
  return condition();
}

base::Result<void> Driver::State::AwaitOverdue() {
  Lock lock(mutex);
  const auto overdue = [](const Share* share) { return share->overdue_; };
  const bool back = WaitUntil(lock, options.release, [&] {
    return given_up == 0 && std::none_of(shares.begin(), shares.end(), overdue);
  });
  if (back) return {};
  return BusyError(lock, Who::kOverdue);
}

bool Driver::State::Nobodys() const {
  return phase == Phase::kClosed || (phase == Phase::kOpen && uses == 0 && shares.empty());
}

// False: somebody still uses it.
bool Driver::State::Drain(Lock& lock, nanoseconds release) {
  const bool drained = WaitUntil(lock, release, [this] { return Nobodys(); });
  if (!drained)
    for (Share* share : shares) share->overdue_ = true;
  return drained;
}

std::vector<std::string> Driver::State::Users(Lock& lock, Who who) const {
  std::vector<std::string> users;
  for (const Share* share : shares)
    if (who == Who::kAll || share->overdue_) users.push_back(share->name_);
  lock.unlock();
  for (const CallAt& call : lanes->Running())
    if (who == Who::kAll || call.given_up) users.push_back(Describe(call));
  lock.lock();
  return users;
}

base::Error Driver::State::BusyError(Lock& lock, Who whom) const {
  std::vector<std::string> who = Users(lock, whom);
  if (who.empty()) who.emplace_back("a job");
  return base::MakeError(base::ErrorCode::kBusy,
                         "the driver cannot be released: {} {} not come back", fmt::join(who, ", "),
                         who.size() == 1 ? "has" : "have")
      .WithHint(
          "try again once it is back; if it never is, see the kernel log, then reboot the node");
}

// With nobody in it.
base::Result<void> Driver::State::Close(Lock& lock) {
  if (phase == Phase::kClosed) return {};
  phase = Phase::kClosing;
  retire = false;
  lock.unlock();
  const Lanes::Report report =
      lanes->Run("", {.call = options.attach, .job = 2 * options.attach},
                 [closing = session](CallWatch& watch) { closing->Close(watch); });
  lock.lock();
  // One that hangs in its end is over all the same: its thread has it.
  session.reset();
  phase = Phase::kClosed;
  changed.notify_all();
  if (report.outcome != Outcome::kDone) return LibraryError(report);
  return {};
}

// `lease`: it stays nobody's until the lease is given back; else the next job opens another
// session.
base::Result<void> Driver::State::MakeNobodys(nanoseconds release, bool lease) {
  Lock lock(mutex);
  if (draining || leased || stopping) {
    return base::Error(base::ErrorCode::kBusy, "the driver is being released already")
        .WithHint("try again when the change that needs it is done");
  }
  draining = true;
  TellShares(lock);
  base::Result<void> closed = Drain(lock, release) ? Close(lock) : BusyError(lock);
  if (closed.ok()) closed = CheckNoOpenNodes();
  draining = false;
  leased = lease && closed.ok();
  // Refused if it is leased, else they go on.
  AdmitAll();
  changed.notify_all();
  return closed;
}

// With the mutex held. `body` may block.
void Driver::State::StartGate(std::function<void()> body) {
  ++gates;
  StartQuietThread("driver-gate", [self = shared_from_this(), body = std::move(body)]() mutable {
    body();
    body = nullptr;
    const std::scoped_lock lock(self->mutex);
    --self->gates;
    self->changed.notify_all();
  }).detach();
}

// Closes the session that had to wait for calls that were given up.
void Driver::State::Retire() {
  retire = false;
  StartGate([this] {
    if (MakeNobodys(options.release, false).ok()) return;
    const std::scoped_lock lock(mutex);
    retire = given_up > 0;
  });
}

}  // namespace partita::hw::nvml
