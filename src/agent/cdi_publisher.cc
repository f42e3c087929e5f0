#include "agent/cdi_publisher.h"

#include <chrono>
#include <utility>

#include "hw/nvml/quiet_thread.h"

namespace partita::agent {

namespace {

using base::LogKey;
using base::Value;

// A change of MIG comes as several: they are one file.
constexpr std::chrono::milliseconds kNodeSettles{200};

}  // namespace

CdiPublisher::CdiPublisher(net::Loop& loop, base::Log& log, net::Task changed)
    : CdiPublisher(
          loop,
          log,
          std::move(changed),
          PublishCdi,
          [this](net::Task job) { RunOnThread(std::move(job)); },
          LookAtCdi) {}

CdiPublisher::CdiPublisher(
    net::Loop& loop, base::Log& log, net::Task changed, Work work, Spawn spawn, Look look)
    : loop_(loop),
      log_(log),
      changed_(std::move(changed)),
      work_(std::move(work)),
      spawn_(std::move(spawn)),
      look_(std::move(look)),
      settles_(loop.NewTimer("cdi-settles")) {}

CdiPublisher::~CdiPublisher() {
  if (thread_.joinable()) thread_.join();
}

void CdiPublisher::Start(CdiOptions options, service::inventory::Live& live, net::Task first) {
  subscription_ = live.Subscribe(
      [this](const service::inventory::SnapshotPtr& snapshot,
             const service::inventory::Changes& changes) { Published(snapshot, changes); });
  Start(std::move(options), live.current(), std::move(first));
}

void CdiPublisher::Start(CdiOptions options, service::inventory::SnapshotPtr now, net::Task first) {
  options_ = std::move(options);
  snapshot_ = std::move(now);
  first_ = std::move(first);
  started_ = true;
  Begin();
}

void CdiPublisher::Stop(net::Task stopped) {
  started_ = wished_ = false;
  first_ = nullptr;
  subscription_.reset();
  settles_->Cancel();
  if (!running_) return stopped();
  stopped_ = std::move(stopped);
}

void CdiPublisher::Published(const service::inventory::SnapshotPtr& snapshot,
                             const service::inventory::Changes& changes) {
  snapshot_ = snapshot;
  if (changes.identity || changes.shape) Wish();
}

void CdiPublisher::Looked() {
  if (!started_ || running_ || settles_->armed()) return;
  if (!problem_.empty()) return Wish();
  if (!last_ || look_(options_) == last_->left) return;
  log_.Warn("somebody changed CDI files: they are looked at anew",
            {{LogKey::kPath, options_.directory}});
  Wish();
}

void CdiPublisher::SetOptions(CdiOptions options) {
  if (options == options_) return;
  options_ = std::move(options);
  Wish();
}

bool CdiPublisher::current() const {
  return started_ && !running_ && !settles_->armed() && problem_.empty() && last_.has_value();
}

// The first wish sets the time: changes without end would otherwise put it off for ever.
void CdiPublisher::Wish() {
  if (!started_) return;
  if (running_) {
    wished_ = true;
  } else if (!settles_->armed()) {
    settles_->After(kNodeSettles, [this] { Begin(); });
  }
  if (progress_) progress_();
}

void CdiPublisher::Begin() {
  running_ = true;
  wished_ = false;
  const std::weak_ptr<bool> alive = alive_;
  spawn_([this, alive, &loop = loop_, work = work_, options = options_, snapshot = snapshot_] {
    const CdiOutcome outcome = work(options, snapshot->inventory);
    loop.Post([this, alive, outcome] {
      if (!alive.expired()) Ended(outcome);
    });
  });
}

void CdiPublisher::RunOnThread(net::Task job) {
  // The one before has posted its end: it is at its last instruction.
  if (thread_.joinable()) thread_.join();
  thread_ = hw::nvml::StartQuietThread("cdi", std::move(job));
}

void CdiPublisher::Ended(const CdiOutcome& outcome) {
  running_ = false;
  // What it says is for nobody.
  if (stopped_) return std::exchange(stopped_, nullptr)();
  Tell(outcome);
  last_ = outcome;
  if (first_) std::exchange(first_, nullptr)();
  if (wished_ && started_) Begin();
  if (progress_) progress_();
}

// Once: the same failure comes with every look. That there is no driver is told by whoever looks
// for it.
void CdiPublisher::Tell(const CdiOutcome& outcome) {
  const bool failed = outcome.problem && outcome.problem->code() != base::ErrorCode::kNoDriver;
  const std::string problem = failed ? outcome.problem->ToString() : "";
  if (problem != problem_) {
    problem_ = problem;
    if (failed) {
      log_.Error("CDI files are not up to date: the ones before stay",
                 base::ErrorFields(*outcome.problem));
    } else {
      log_.Info("CDI files are up to date again", {{LogKey::kPath, options_.directory}});
    }
    if (changed_) changed_();
  }
  if (outcome.news != told_) {
    told_ = outcome.news;
    for (const std::string& news : told_) log_.Warn("CDI", {{LogKey::kError, news}});
  }
  if (outcome.written && problem.empty())
    log_.Info("CDI files written", {{LogKey::kPath, options_.directory}});
}

Value CdiPublisher::State() const {
  Value state = Value::Map().Set("directory", options_.directory);
  if (!last_) return state;
  state.Set("generation", last_->generation).Set("devices", std::uint64_t{last_->devices});
  if (!problem_.empty()) state.Set("problem", problem_);
  return state;
}

}  // namespace partita::agent
