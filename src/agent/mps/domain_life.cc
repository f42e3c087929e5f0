#include "agent/mps/domain_life.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "agent/mps/known_process.h"
#include "service/mps/protocol.h"

namespace partita::agent::mps {
namespace {

using base::LogKey;
using base::Result;
using std::chrono::seconds;

// A daemon that ran for this long has not failed at the same thing again.
constexpr seconds kHasProven{60};
// One that was ready has clients that wait for it.
constexpr seconds kLongestToBeBack{4};
constexpr int kDoublings = 5;
// A daemon that hangs says nothing, and a line of its log may be missed.
constexpr seconds kBetweenLooks{30};
constexpr seconds kUntilAskedAgain{5};
constexpr int kMostSilences = 2;

// At once, since others wait for it; then after 1, 2, 4 … seconds.
net::Duration PauseAfter(int failures, net::Duration longest) {
  if (failures <= 1) return net::Duration(0);
  const net::Duration pause = seconds(1 << std::min(failures - 2, kDoublings));
  return std::min(pause, longest);
}

// Of the daemon. All else failed on the way to it, or is an answer that nobody here knows: a
// control program that is being replaced, no process to be had, a runner that is away or hangs.
// That says nothing about the daemon, and its clients need not end for it.
bool IsSilence(const base::Error& error) {
  return error.code() == base::ErrorCode::kTimeout || error.code() == base::ErrorCode::kUnavailable;
}

Result<std::vector<model::Pid>> CheckAndFindFaulty(const Machine& machine,
                                                   service::mps::Record record,
                                                   Fault fault,
                                                   const std::atomic<bool>& stop) {
  TRY_VOID(CheckLimits(machine, record.domain, stop));
  // Its agent was killed in between.
  if (!record.limited) TRY_VOID(EndUnlimited(machine, record, stop));
  return FindFaulty(machine, record.domain.name, fault, stop);
}

}  // namespace

std::string_view ToString(Phase phase) {
  switch (phase) {
    case Phase::kStarting: return "starting";
    case Phase::kReady: return "ready";
    case Phase::kMending: return "mending";
    case Phase::kWaiting: return "waiting";
    case Phase::kStopping: return "stopping";
    case Phase::kEnded: return "ended";
  }
  return "";
}

DomainLife::DomainLife(net::Loop& loop,
                       base::Log& log,
                       const Machine& machine,
                       service::mps::Domain domain,
                       std::function<void()> changed)
    : loop_(loop),
      log_(log),
      machine_(machine),
      domain_(std::move(domain)),
      changed_(std::move(changed)),
      failure_(log, "MPS domain " + domain_.name + " does not run"),
      unasked_(log, "MPS domain " + domain_.name + " cannot be asked: its daemon stays"),
      condition_{Phase::kStarting, "its daemon is being started"},
      again_(loop.NewTimer("mps-again")),
      look_(loop.NewTimer("mps-servers")),
      log_tail_(loop, [this](std::string_view line) { Heard(line); }),
      job_(loop) {}

DomainLife::~DomainLife() = default;

void DomainLife::Become(Phase phase, std::string why) {
  Condition next{phase, std::move(why)};
  if (next == condition_) return;
  condition_ = std::move(next);
  changed_();
}

void DomainLife::Run(Job::Work work) {
  if (Result<void> begun = job_.Start(std::move(work)); !begun.ok()) Fail(begun.error());
}

// What a daemon that runs is asked. That no thread is to be had now says nothing about it, and its
// clients need not end for that: it is asked later.
bool DomainLife::CouldRun(Job::Work work) {
  Result<void> begun = job_.Start(std::move(work));
  if (begun.ok()) return true;
  unasked_.Failed(begun.error());
  // Nor for each line of the log meanwhile.
  look_soon_ = true;
  LookLater(kUntilAskedAgain);
  return false;
}

void DomainLife::Start() {
  Become(Phase::kStarting, "its daemon is being started");
  Begin();
}

void DomainLife::TryAgain() {
  if (!again_->armed()) return;
  again_->Cancel();
  // What failed for want of it says nothing about the daemon.
  failures_ = 0;
  Start();
}

void DomainLife::Begin() {
  beginning_ = true;
  Run([this, machine = machine_, domain = domain_](const std::atomic<bool>& stop) -> net::Task {
    auto running = std::make_shared<Result<Running>>(StartDaemon(machine, domain, stop));
    return [this, running] { Began(std::move(*running)); };
  });
}

void DomainLife::Began(Result<Running> running) {
  beginning_ = false;
  if (stopped_) return End();
  if (!running.ok()) return Fail(running.error());
  log_.Info("MPS domain started",
            {{LogKey::kStep, domain_.name}, {LogKey::kPid, running->record.process.pid.value()}});
  for (const std::string& news : running->news) {
    log_.Warn("MPS domain " + domain_.name, {{LogKey::kError, news}});
  }
  Have(*std::move(running));
}

void DomainLife::Adopt(Running running) {
  log_.Info("MPS domain adopted",
            {{LogKey::kStep, domain_.name}, {LogKey::kPid, running.record.process.pid.value()}});
  Have(std::move(running));
}

void DomainLife::Have(Running running) {
  running_ = std::move(running);
  ready_since_ = loop_.clock().Now();
  const std::string log = LogFile(service::mps::DirectoriesOf(machine_.root, domain_.name));
  if (Result<void> watched = log_tail_.Start(log); !watched.ok()) {
    log_.Warn("faults of MPS clients in domain " + domain_.name + " are not noticed",
              base::ErrorFields(watched.error()));
  }
  end_ = loop_.NewWatch("mps-daemon", running_->process.get());
  end_->OnReadable([this] { Died(); });
  failure_.Succeeded();
  silences_ = 0;
  if (running_->checked) {
    Become(Phase::kReady, "");
  } else {
    Become(Phase::kStarting, "its daemon has not answered yet");
  }
  // While nobody listened to its log a client may have failed.
  Look(Fault::kMaybe);
}

void DomainLife::Died() {
  Reap(running_->process.get());
  end_.reset();
  log_tail_.Stop();
  look_->Cancel();
  running_.reset();
  if (loop_.clock().Now() - ready_since_ >= kHasProven) failures_ = 0;
  // What is being done ends first.
  if (job_.running() || stopped_) {
    return Become(stopped_ ? Phase::kStopping : Phase::kWaiting, "its daemon has ended");
  }
  FailEnded();
}

void DomainLife::FailEnded() {
  Fail(base::MakeError(base::ErrorCode::kUnavailable, "its daemon has ended"), kLongestToBeBack);
}

void DomainLife::Fail(const base::Error& error, net::Duration longest) {
  ++failures_;
  failure_.Failed(error, {{LogKey::kAttempt, failures_}}, base::LogLevel::kError);
  Become(Phase::kWaiting, error.ToString());
  again_->After(PauseAfter(failures_, longest), [this] { Start(); });
}

void DomainLife::Heard(std::string_view line) {
  if (!service::mps::TellsOfFault(line)) return;
  fault_heard_ = true;
  if (!job_.running() && running_ && !look_soon_) LookForHeard();
}

void DomainLife::LookForHeard() {
  const auto now = loop_.clock().Now();
  if (now >= listens_from_) return Look(Fault::kHeard);
  look_soon_ = true;
  LookLater(listens_from_ - now);
}

void DomainLife::Look(Fault fault) {
  const bool heard = std::exchange(fault_heard_, false);
  look_soon_ = false;
  look_->Cancel();
  const bool looks =
      CouldRun([this, fault, machine = machine_, record = running_->record,
                checked = running_->checked](const std::atomic<bool>& stop) -> net::Task {
        const Result<std::vector<model::Pid>> faulty =
            checked ? FindFaulty(machine, record.domain.name, fault, stop)
                    : CheckAndFindFaulty(machine, record, fault, stop);
        return [this, fault, faulty] { Looked(fault, faulty); };
      });
  if (!looks) fault_heard_ = heard;
}

void DomainLife::LookLater(net::Duration pause) {
  look_->After(pause, [this] { Look(fault_heard_ ? Fault::kHeard : Fault::kMaybe); });
}

void DomainLife::Looked(Fault fault, const Result<std::vector<model::Pid>>& faulty) {
  if (stopped_) return End();
  if (!running_) return FailEnded();
  CountAlarm(fault, faulty.ok() && !faulty->empty());
  if (!faulty.ok() && IsSilence(faulty.error())) return Silent(faulty.error());
  if (!faulty.ok() && faulty.error().code() == base::ErrorCode::kConflict) {
    log_.Warn("MPS domain " + domain_.name + " has other limits in force: its daemon is replaced",
              base::ErrorFields(faulty.error()));
    return Replace();
  }
  if (!faulty.ok()) {
    unasked_.Failed(faulty.error());
    return LookLater(kBetweenLooks);
  }
  unasked_.Succeeded();
  silences_ = 0;
  running_->checked = true;
  if (!faulty->empty()) return Mend(*faulty);
  Become(Phase::kReady, "");
  if (fault_heard_) return LookForHeard();
  LookLater(kBetweenLooks);
}

// Whoever writes of faults that there are not is listened to less and less: clients can write into
// the daemon's log what they like, and each alarm takes processes.
void DomainLife::CountAlarm(Fault fault, bool found) {
  const bool false_alarm = fault == Fault::kHeard && !found;
  false_alarms_ = false_alarm ? false_alarms_ + 1 : 0;
  if (!false_alarm) return;
  listens_from_ = loop_.clock().Now() + PauseAfter(false_alarms_ + 1, kLongestPause);
}

// It may have been busy: the daemon and its clients get another chance.
void DomainLife::Silent(const base::Error& error) {
  if (++silences_ < kMostSilences) return LookLater(kUntilAskedAgain);
  log_.Warn("MPS domain " + domain_.name + " does not answer: its daemon is replaced",
            base::ErrorFields(error));
  Replace();
}

void DomainLife::Mend(const std::vector<model::Pid>& faulty) {
  Become(Phase::kMending, "a client's fault has ended the clients of its server");
  (void)CouldRun([this, faulty, machine = machine_,
                  name = domain_.name](const std::atomic<bool>& stop) -> net::Task {
    const Result<void> end = EndServers(machine, name, faulty, stop);
    return [this, end, count = faulty.size()] { Mended(end, count); };
  });
}

void DomainLife::Mended(const Result<void>& end, std::size_t count) {
  if (stopped_) return End();
  if (!running_) return FailEnded();
  if (!end.ok() && !IsSilence(end.error())) {
    unasked_.Failed(end.error());
    return LookLater(kUntilAskedAgain);
  }
  if (!end.ok()) {
    log_.Warn("MPS domain " + domain_.name +
                  " has a server in FAULT that does not go: its daemon "
                  "is replaced",
              base::ErrorFields(end.error()));
    return Replace();
  }
  log_.Warn("a client's fault ended all clients of an MPS server: it was replaced",
            {{LogKey::kStep, domain_.name}, {LogKey::kCount, count}});
  Become(Phase::kReady, "");
  Look(fault_heard_ ? Fault::kHeard : Fault::kMaybe);
}

void DomainLife::Replace() {
  end_.reset();
  log_tail_.Stop();
  look_->Cancel();
  running_.reset();
  Become(Phase::kMending, "its daemon is being replaced");
  Run([this, machine = machine_, name = domain_.name](const std::atomic<bool>& stop) -> net::Task {
    const Result<void> end = StopDaemon(machine, name, Stopping::kToStartAgain, stop);
    return [this, end] {
      if (stopped_) return End();
      if (!end.ok()) return Fail(end.error());
      Begin();
    };
  });
}

void DomainLife::Stop(Stopping stopping, std::function<void(Result<void> end)> stopped) {
  stopping_ = stopping;
  stopped_ = std::move(stopped);
  again_->Cancel();
  look_->Cancel();
  Become(Phase::kStopping, "its daemon is being ended");
  if (!job_.running()) return End();
  // A start that is left halfway may leave a daemon of which nobody knows.
  if (!beginning_) job_.AskToStop();
}

void DomainLife::End() {
  end_.reset();
  log_tail_.Stop();
  running_.reset();
  const auto work = [this, machine = machine_, name = domain_.name,
                     stopping = stopping_](const std::atomic<bool>& stop) -> net::Task {
    const Result<void> end = StopDaemon(machine, name, stopping, stop);
    return [this, end] {
      Become(Phase::kEnded, "");
      std::exchange(stopped_, nullptr)(end);
    };
  };
  if (Result<void> begun = job_.Start(work); !begun.ok()) {
    std::exchange(stopped_, nullptr)(begun);
  }
}

}  // namespace partita::agent::mps
