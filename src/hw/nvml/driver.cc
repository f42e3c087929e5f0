#include "hw/nvml/driver.h"

#include <deque>
#include <mutex>

#include "hw/nvml/await.h"
#include "hw/nvml/driver_state.h"

namespace partita::hw::nvml {
namespace {

using std::chrono::nanoseconds;

}  // namespace

std::string KeyOf(const model::PciAddress& gpu) { return gpu.ToString(); }

Driver::Lease::~Lease() {
  if (!state_) return;
  const std::scoped_lock lock(state_->mutex);
  state_->leased = false;
  state_->changed.notify_all();
}

Driver::Share::Share(std::shared_ptr<State> state, std::string name, std::function<void()> wanted)
    : state_(std::move(state)),
      session_(state_->session),
      name_(std::move(name)),
      wanted_(std::move(wanted)) {
  state_->shares.push_back(this);
}

Driver::Share::~Share() {
  session_.reset();
  const std::scoped_lock lock(state_->mutex);
  std::erase(state_->shares, this);
  state_->changed.notify_all();
}

bool Driver::Share::wanted() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->draining || state_->stopping;
}

base::Result<void> Driver::AwaitOverdue() { return state_->AwaitOverdue(); }

std::vector<std::string> Driver::Overdue() const {
  State::Lock lock(state_->mutex);
  return state_->Users(lock, State::Who::kOverdue);
}

std::unique_ptr<Driver::Share> Driver::ShareSession(std::string name,
                                                    std::function<void()> wanted) {
  const std::scoped_lock lock(state_->mutex);
  if (state_->phase != State::Phase::kOpen || state_->draining) return nullptr;
  return std::unique_ptr<Share>(new Share(state_, std::move(name), std::move(wanted)));
}

Driver::Driver(Options options)
    : state_(std::make_shared<State>(std::move(options))), lanes_(state_->options.lanes) {
  state_->lanes = &lanes_;
}

Driver::~Driver() {
  std::deque<State::Pending> refused;
  std::shared_ptr<Session> session;
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stopping = true;
    std::swap(state_->pending, refused);
    state_->changed.notify_all();
  }
  for (State::Pending& each : refused) {
    each.job = nullptr;
    each.done({Outcome::kStopped, "", {}, std::nullopt});
  }
  {
    State::Lock lock(state_->mutex);
    state_->changed.wait(lock, [this] {
      return state_->gates == 0 && state_->phase != State::Phase::kOpening &&
             state_->uses == state_->given_up;
    });
    if (state_->uses == 0) std::swap(state_->session, session);
    state_->lanes = nullptr;  // whoever is still in the session closes it
  }
  if (!session) return;
  // What depends on the end of a session has waited for it; here that of the process does as well.
  const nanoseconds limit = state_->options.call;
  (void)lanes_.Run("", {.call = limit, .job = limit},
                   [session = std::move(session)](CallWatch& watch) { session->Close(watch); });
}

const Driver::Options& Driver::options() const { return state_->options; }

JobLimits Driver::LimitsFor(nanoseconds longest) const {
  const Options& its = options();
  // However quick its calls, a job that lasts so long is of no use to anybody.
  return {.call = its.call, .job = its.attach + longest + 10 * its.call};
}

void Driver::Submit(std::string gpu, const JobLimits& limits, Job job, Done done) {
  // Perhaps there is one by now.
  if (base::Result<void> started = lanes_.Start(); !started.ok()) {
    base::Error why = std::move(started).error().Within("the driver could not be asked");
    return done({Outcome::kNoDriver, "", {}, std::move(why)});
  }
  State::Lock lock(state_->mutex);
  if (!state_->stopping) {
    state_->Submit({std::move(gpu), limits, std::move(job), std::move(done)});
    return;
  }
  lock.unlock();
  done({Outcome::kStopped, "", {}, std::nullopt});
}

void Driver::SubmitReopen(std::chrono::nanoseconds release,
                          std::function<void(base::Result<void>)> done) {
  SubmitExclusive(release, [done = std::move(done)](base::Result<Lease> lease) {
    const base::Result<void> end = lease.ok() ? base::Result<void>() : lease.error();
    { const base::Result<Lease> given_back = std::move(lease); }
    done(end);
  });
}

Driver::Report Driver::Run(std::string gpu, const JobLimits& limits, Job job) {
  return Await<Report>(
      [&](Done done) { Submit(std::move(gpu), limits, std::move(job), std::move(done)); });
}

base::Result<Driver::Lease> Driver::Exclusive(nanoseconds release) {
  TRY_VOID(state_->MakeNobodys(release, true));
  return Lease(state_);
}

void Driver::SubmitExclusive(nanoseconds release, std::function<void(base::Result<Lease>)> done) {
  const std::scoped_lock lock(state_->mutex);
  state_->StartGate([this, release, done = std::move(done)] { done(Exclusive(release)); });
}

base::Result<void> Driver::CloseIf(const std::function<bool(const Session&)>& meant) {
  {
    State::Lock lock(state_->mutex);
    if (state_->phase == State::Phase::kClosed) return {};
    if (state_->session && !meant(*state_->session)) return {};
    if (state_->given_up > 0) {
      state_->retire = true;
      return state_->BusyError(lock);
    }
  }
  base::Result<void> closed = state_->MakeNobodys(options().release, false);
  if (closed.ok()) return {};
  const std::scoped_lock lock(state_->mutex);
  state_->retire = state_->given_up > 0;
  return closed;
}

base::Result<void> Driver::Release() {
  return CloseIf([](const Session&) { return true; });
}

base::Result<void> Driver::Reopen(std::uint64_t generation) {
  return CloseIf(
      [generation](const Session& session) { return session.generation() == generation; });
}

}  // namespace partita::hw::nvml
