// One domain over its life: a daemon that is started again when it dies, and whose servers are
// replaced when a client's fault has spoilt them. The daemon outlives this.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/mps/daemon.h"
#include "agent/mps/job.h"
#include "agent/mps/log_tail.h"
#include "base/log.h"
#include "net/loop.h"
#include "service/mps/domain.h"

namespace partita::agent::mps {

enum class Phase : std::uint8_t {
  kStarting,
  kReady,
  kMending,  // a server is in FAULT, or its daemon is deaf, and is being replaced
  kWaiting,  // it failed, and is tried again later
  kStopping,
  kEnded,
};
[[nodiscard]] std::string_view ToString(Phase phase);

// Only a domain that is ready serves containers; `why` says what is wrong with another.
struct Condition {
  Phase phase = Phase::kStarting;
  std::string why;
  bool operator==(const Condition&) const = default;
};

// Loop's thread only. Loop, log and machine outlive it.
class DomainLife {
 public:
  DomainLife(net::Loop& loop,
             base::Log& log,
             const Machine& machine,
             service::mps::Domain domain,
             std::function<void()> changed);
  DomainLife(const DomainLife&) = delete;
  DomainLife& operator=(const DomainLife&) = delete;
  // The daemon stays, with its clients.
  ~DomainLife();

  // One of these first.
  void Start();
  void Adopt(Running running);
  // What it waits for may be there now: no longer than this. Where it waits for nothing, nothing.
  void TryAgain();

  // Ends the daemon, whatever it does now. `stopped` is called once; an error: it may still run.
  void Stop(Stopping stopping, std::function<void(base::Result<void> end)> stopped);

  // Before its end, as Job.
  void AskToStop() { job_.AskToStop(); }

  [[nodiscard]] const service::mps::Domain& domain() const { return domain_; }
  [[nodiscard]] const Condition& condition() const { return condition_; }

 private:
  void Become(Phase phase, std::string why);
  void Run(Job::Work work);
  [[nodiscard]] bool CouldRun(Job::Work work);
  void Begin();
  void Began(base::Result<Running> running);
  void Have(Running running);
  void Died();
  void Heard(std::string_view line);
  void LookForHeard();
  void Look(Fault fault);
  void Looked(Fault fault, const base::Result<std::vector<model::Pid>>& faulty);
  void LookLater(net::Duration pause);
  void CountAlarm(Fault fault, bool found);
  void Silent(const base::Error& error);
  void Mend(const std::vector<model::Pid>& faulty);
  void Mended(const base::Result<void>& end, std::size_t count);
  void Replace();
  static constexpr std::chrono::seconds kLongestPause{30};
  void Fail(const base::Error& error, net::Duration longest = kLongestPause);
  void FailEnded();
  void End();

  net::Loop& loop_;
  base::Log& log_;
  const Machine& machine_;
  service::mps::Domain domain_;
  std::function<void()> changed_;
  base::RepeatedFailure failure_, unasked_;
  Condition condition_;
  std::optional<Running> running_;
  std::unique_ptr<net::Watch> end_;  // of the daemon
  std::unique_ptr<net::Timer> again_, look_;
  LogTail log_tail_;
  int failures_ = 0;
  int silences_ = 0;  // looks in a row that the daemon did not answer
  std::chrono::steady_clock::time_point ready_since_;
  bool beginning_ = false;    // a daemon is being started
  bool fault_heard_ = false;  // since the last look
  bool look_soon_ = false;    // for that, once the pause between two is over
  int false_alarms_ = 0;      // in a row
  std::chrono::steady_clock::time_point listens_from_;  // to the log again, after a false alarm
  Stopping stopping_ = Stopping::kForGood;
  std::function<void(base::Result<void> end)> stopped_;
  Job job_;  // last: its thread ends first
};

}  // namespace partita::agent::mps
