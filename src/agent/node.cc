#include "agent/node.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "agent/remembered_gpus.h"
#include "base/files.h"
#include "hw/inventory_reader.h"

namespace partita::agent {
namespace {

using base::LogKey;
using hw::nvml::EventKind;
using hw::nvml::Part;
using hw::nvml::Parts;
using service::inventory::Changes;
using service::inventory::Live;
using service::inventory::Snapshot;
using service::inventory::SnapshotPtr;

// Instances may have come or gone; with the modes they are a few dozen calls.
constexpr Parts kShape = {Part::kModes, Part::kInstances};
// A driver that refuses events now may give them after its trouble; one that has just lost a GPU
// gives those of the others at once.
constexpr std::chrono::seconds kListenAgain{30}, kListenSoon{1};

// A driver that sleeps takes seconds to wake its GPUs, and of what nobody has read nothing can be
// said. One that hangs is not waited for longer.
constexpr std::chrono::seconds kFirstLook{10};
// From the first GPU that answers: the others are asleep or hang, and its pods wait.
constexpr std::chrono::seconds kFirstLate{1};
constexpr std::uint64_t kXidNvlink = 74;

std::string_view NameOf(EventKind kind) {
  switch (kind) {
    case EventKind::kXid: return "XID";
    case EventKind::kMigChanged: return "MIG changed";
    case EventKind::kMemory: return "memory error";
    case EventKind::kUnavailable: return "GPU unavailable";
    case EventKind::kRecoveryAction: return "recovery action changed";
  }
  return "";
}

}  // namespace

Node::Node(net::Loop& loop, base::Log& log)
    : loop_(loop),
      log_(log),
      first_look_(loop.NewTimer("first-look")),
      first_late_(loop.NewTimer("first-late")),
      listen_again_(loop.NewTimer("listen-again")) {}

Node::~Node() {
  *alive_ = false;
  events_.reset();
  subscription_.reset();
  live_.reset();
  driver_.reset();
}

void Node::Start(const NodeOptions& options, net::Task looked) {
  options_ = options;
  hw::ReaderOptions reader;
  reader.root = options.root;
  reader.driver_root = options.driver_root;
  driver_ = hw::MakeDriver(reader);
  base::Result<std::vector<service::inventory::Remembered>> remembered =
      ReadRememberedGpus(options.state_directory);
  if (!remembered.ok()) log_.Warn("names of GPUs", base::ErrorFields(remembered.error()));
  live_ = std::make_unique<Live>(
      loop_, *driver_, Live::Options{.root = options.root},
      remembered.ok() ? *remembered : std::vector<service::inventory::Remembered>());
  subscription_ = live_->Subscribe([this](const SnapshotPtr& snapshot, const Changes& changes) {
    Published(snapshot, changes);
  });
  ListenToKernel();
  live_->Start();
  looked_ = std::move(looked);
  first_look_->After(kFirstLook, [this] { TellSettled(); });
  live_->Look({}, [this](const SnapshotPtr&) { CheckSettled(); });
}

bool Node::answered() const {
  const Snapshot& now = *live_->current();
  return now.inventory.driver && !now.inventory.driver_error && !live_->waits() &&
         std::all_of(now.stale.begin(), now.stale.end(),
                     [](const auto& each) { return each.second.since.has_value(); });
}

// A GPU that was never read and has a fault is known: it was asked, and that was the answer.
bool Node::settled() const {
  const Snapshot& now = *live_->current();
  if (now.inventory.driver_error) return true;
  if (!now.inventory.driver || live_->waits()) return false;
  return std::all_of(now.stale.begin(), now.stale.end(), [&](const auto& each) {
    const auto gpu = std::find_if(now.inventory.gpus.begin(), now.inventory.gpus.end(),
                                  [&](const model::Gpu& one) { return one.pci == each.first; });
    return each.second.since || (gpu != now.inventory.gpus.end() && !gpu->faults.empty());
  });
}

void Node::CheckSettled() {
  if (settled_) return;
  if (settled()) return TellSettled();
  const std::vector<model::Gpu>& gpus = live_->current()->inventory.gpus;
  const bool some = std::any_of(gpus.begin(), gpus.end(), [&](const model::Gpu& gpu) {
    return live_->ReadAt(gpu.pci, Part::kIdentity).has_value();
  });
  if (some && looked_ && !first_late_->armed())
    first_late_->After(kFirstLate, [this] { TellLooked(); });
}

void Node::TellLooked() {
  first_late_->Cancel();
  if (looked_) std::exchange(looked_, nullptr)();
}

void Node::TellSettled() {
  settled_ = true;
  first_look_->Cancel();
  TellStale(*live_->current());
  TellLooked();
  for (const net::Task& task : std::exchange(when_settled_, {})) task();
}

void Node::WhenSettled(net::Task task) {
  if (settled_) return task();
  when_settled_.push_back(std::move(task));
}

void Node::ListenToKernel() {
  base::Result<hw::watch::Uevents> uevents = hw::watch::Uevents::Open();
  if (uevents.ok()) {
    uevents_.emplace(*std::move(uevents));
    uevent_watch_ = loop_.NewWatch("uevents", uevents_->fd());
    uevent_watch_->OnReadable([this] { HeardKernel(); });
  } else {
    log_.Warn(
        "the kernel's device messages are not heard: GPUs that come or go are seen by the "
        "next look",
        base::ErrorFields(uevents.error()));
  }
  base::Result<hw::watch::Paths> paths = hw::watch::Paths::Open();
  if (!paths.ok()) {
    log_.Warn("device nodes are not watched", base::ErrorFields(paths.error()));
    return;
  }
  paths_.emplace(*std::move(paths));
  for (const char* directory : {"dev", "dev/nvidia-caps"}) {
    const base::Result<void> watched = paths_->Watch(base::JoinPath(options_.root, directory));
    if (!watched.ok())
      log_.Warn("device nodes are not watched", base::ErrorFields(watched.error()));
  }
  path_watch_ = loop_.NewWatch("paths", paths_->fd());
  path_watch_->OnReadable([this] { HeardPaths(); });
}

void Node::HeardKernel() {
  const hw::watch::Uevents::Heard heard = uevents_->Read();
  bool look = heard.missed;
  for (const hw::watch::Uevent& event : heard.events) look = look || ConcernsGpus(event);
  if (look) live_->Look(kShape);
}

void Node::HeardPaths() {
  if (!paths_->Read().empty()) live_->Look(kShape);
}

// In the session that answers now. A set of events is of one session, so each needs its own.
void Node::ListenToDriver() {
  if (stopped_ || listening_ != Listening::kNo) return;
  const Snapshot& now = *live_->current();
  if (now.session == 0) return;
  listening_ = Listening::kBeginning;
  listened_session_ = now.session;
  if (!events_) {
    // Called on other threads.
    const auto on_loop = [loop = &loop_, alive = alive_](net::Task task) {
      loop->Post([alive, task = std::move(task)] {
        if (*alive) task();
      });
    };
    hw::nvml::Events::Listener listener;
    listener.event = [this, on_loop](const hw::nvml::Event& event) {
      on_loop([this, event] { HeardEvent(event); });
    };
    listener.driver_moved = [this, on_loop] {
      on_loop([this] {
        log_.Info("GPUs were bound to the driver or taken from it", {});
        live_->Look(kShape);
      });
    };
    listener.begun = [this, on_loop](std::uint64_t session,
                                     std::vector<model::PciAddress> unmonitored) {
      on_loop([this, session, unmonitored = std::move(unmonitored)] {
        EventsBegun(session, unmonitored);
      });
    };
    listener.ended = [this, on_loop](hw::nvml::Events::End end, std::optional<base::Error> why) {
      on_loop([this, end, why = std::move(why)] { EventsEnded(end, why); });
    };
    events_ =
        std::make_unique<hw::nvml::Events>(*driver_, std::move(listener), options_.event_tick);
  }
  std::vector<model::PciAddress> gpus;
  for (const model::Gpu& gpu : now.inventory.gpus) {
    if (!now.stale.contains(gpu.pci)) gpus.push_back(gpu.pci);
  }
  listened_ = {gpus.begin(), gpus.end()};
  events_->Start(std::move(gpus));
}

void Node::EventsBegun(std::uint64_t session, const std::vector<model::PciAddress>& unmonitored) {
  listening_ = Listening::kYes;
  listening_since_ = loop_.clock().Now();
  listened_session_ = session;
  std::vector<model::PciAddress> deaf;
  for (const model::PciAddress& gpu : unmonitored) {
    // One that did not answer is asked again when it does.
    if (live_->current()->stale.contains(gpu)) {
      listened_.erase(gpu);
      continue;
    }
    log_.Warn("the driver tells no events of this GPU", {{LogKey::kGpu, gpu.ToString()}});
    deaf.push_back(gpu);
  }
  TellMonitoring(deaf);
  if (stopped_) return;
  // What happened while nobody listened: a GPU may have answered that was not asked for events.
  ListenToNewcomers(*live_->current());
  live_->Look(kShape);
}

void Node::TellMonitoring(const std::vector<model::PciAddress>& unmonitored) const {
  if (listener_.monitoring) listener_.monitoring(unmonitored);
}

// The driver takes no GPU into a set that somebody waits for, so the wait begins anew.
void Node::ListenToNewcomers(const Snapshot& snapshot) {
  if (listening_ != Listening::kYes || listen_at_once_) return;
  for (const model::Gpu& gpu : snapshot.inventory.gpus) {
    if (listened_.contains(gpu.pci) || snapshot.stale.contains(gpu.pci)) continue;
    listen_at_once_ = true;
    events_->Stop();
    return;
  }
}

void Node::HeardEvent(const hw::nvml::Event& event) {
  base::Log::Fields fields = {{LogKey::kGpu, event.gpu.ToString()}};
  if (event.kind == EventKind::kXid) {
    fields.push_back({LogKey::kXid, static_cast<std::int64_t>(event.data)});
    log_.Warn("XID", fields);
  } else {
    log_.Info(NameOf(event.kind), fields);
  }
  if (listener_.event) listener_.event(event);
  if (event.kind == EventKind::kXid && event.data == kXidNvlink) live_->LookAtLinks();
  Parts parts = kShape;
  if (event.kind != EventKind::kMigChanged) parts |= {Part::kReadings};
  live_->Look(parts);
}

void Node::EventsEnded(hw::nvml::Events::End end, const std::optional<base::Error>& why) {
  const bool lasted =
      listening_ == Listening::kYes && loop_.clock().Now() - listening_since_ >= kListenAgain;
  listening_ = Listening::kNo;
  if (stopped_) return Stopped();
  if (end == hw::nvml::Events::End::kFailed) {
    log_.Warn("the driver's events are not heard: the next look sees what they would tell",
              why ? base::ErrorFields(*why) : base::Log::Fields{});
    std::vector<model::PciAddress> all;
    for (const model::Gpu& gpu : live_->current()->inventory.gpus) all.push_back(gpu.pci);
    TellMonitoring(all);
    live_->Look(kShape);
  }
  if (std::exchange(listen_at_once_, false)) return ListenToDriver();
  // Released: whoever wanted the session closed has it for a while.
  std::chrono::seconds pause = kListenAgain;
  if (end == hw::nvml::Events::End::kFailed) {
    if (lasted) pause_ = kListenSoon;
    pause = std::exchange(pause_, std::min(2 * pause_, kListenAgain));
  }
  listen_again_->After(pause, [this] { ListenToDriver(); });
}

void Node::Published(const SnapshotPtr& snapshot, const Changes& changes) {
  if (changes.identity) Remember();
  TellStale(*snapshot);
  // Whether one that does not answer tells events is asked anew when it does.
  for (const auto& [gpu, stale] : snapshot->stale) listened_.erase(gpu);
  // Not from within a look: what follows looks itself.
  if (!settled_)
    loop_.Post([this, alive = alive_] {
      if (*alive && running()) CheckSettled();
    });
  if (snapshot->session != listened_session_) {
    listen_again_->Cancel();
    ListenToDriver();
  }
  ListenToNewcomers(*snapshot);
}

// Once when a GPU falls silent and once when it is back.
void Node::TellStale(const Snapshot& snapshot) {
  for (const auto& [gpu, stale] : snapshot.stale) {
    // A library that has just been opened takes longer than a look waits: 30 ms on an H200.
    if (!settled_ && !stale.since) continue;
    if (!told_stale_.insert(gpu).second) continue;
    log_.Warn("this GPU does not answer; it is shown as it was",
              {{LogKey::kGpu, gpu.ToString()}, {LogKey::kError, stale.why}});
  }
  for (auto each = told_stale_.begin(); each != told_stale_.end();) {
    if (snapshot.stale.contains(*each)) {
      ++each;
      continue;
    }
    log_.Info("this GPU answers again", {{LogKey::kGpu, each->ToString()}});
    each = told_stale_.erase(each);
  }
}

// Also a new session, another index or a problem is another identity of the node; only other GPUs
// are worth a line.
void Node::Remember() {
  const auto names = [](const std::vector<service::inventory::Remembered>& gpus) {
    std::set<model::GpuUuid> uuids;
    for (const service::inventory::Remembered& each : gpus) uuids.insert(each.uuid);
    return uuids;
  };
  std::vector<service::inventory::Remembered> gpus = live_->ToRemember();
  if (gpus == remembered_) return;
  if (names(gpus) != names(remembered_))
    log_.Info("GPUs", {{LogKey::kCount, static_cast<std::int64_t>(gpus.size())}});
  remembered_ = std::move(gpus);
  const base::Result<void> written = WriteRememberedGpus(options_.state_directory, remembered_);
  if (!written.ok())
    log_.Warn("a GPU that does not answer after a restart has no name",
              base::ErrorFields(written.error()));
}

void Node::Reopen(std::function<void(base::Result<void>)> done) {
  driver_->SubmitReopen(
      driver_->options().release,
      [this, loop = &loop_, alive = alive_, done = std::move(done)](const base::Result<void>& end) {
        loop->Post([this, alive, done, end] {
          if (!*alive || !live_) return;
          live_->Look(Parts::All(), [done, end](const SnapshotPtr&) { done(end); });
        });
      });
}

void Node::Stop(net::Task stopped) {
  first_look_->Cancel();
  first_late_->Cancel();
  settled_ = true;
  looked_ = nullptr;
  when_settled_.clear();
  listen_again_->Cancel();
  uevent_watch_.reset();
  path_watch_.reset();
  stopped_ = std::move(stopped);
  if (!events_ || listening_ == Listening::kNo) return Stopped();
  events_->Stop();
}

// The driver goes with this object: closing its session may take longer than a stop.
void Node::Stopped() {
  subscription_.reset();
  live_.reset();
  stopped_();
}

}  // namespace partita::agent
