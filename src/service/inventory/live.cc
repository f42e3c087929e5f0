#include "service/inventory/live.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "hw/assemble.h"
#include "hw/device_nodes.h"
#include "hw/merge.h"
#include "hw/nvml/errors.h"
#include "hw/nvml/job_fault.h"

namespace partita::service::inventory {
namespace {

using hw::nvml::CallWatch;
using hw::nvml::Driver;
using hw::nvml::GpuAnswer;
using hw::nvml::Outcome;
using hw::nvml::Part;
using hw::nvml::Parts;
using hw::nvml::Session;

// A second session in a row that is lost at once has no driver behind it worth asking: the next
// look is the timer's.
constexpr int kMostLostSessions = 2;

// Handed from a driver thread to the loop; shared, since the thread may be left behind.
template <typename Value>
class Handed {
 public:
  void Set(Value value) {
    const std::scoped_lock lock(mutex_);
    value_ = std::move(value);
  }
  [[nodiscard]] Value Get() const {
    const std::scoped_lock lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  Value value_{};
};

std::set<model::PciAddress> WithMig(const model::Inventory& inventory) {
  std::set<model::PciAddress> gpus;
  for (const model::Gpu& gpu : inventory.gpus) {
    if (gpu.mig && gpu.mig->enabled) gpus.insert(gpu.pci);
  }
  return gpus;
}

}  // namespace

struct Live::DriverAnswer {
  std::uint64_t session = 0;
  std::optional<model::Driver> driver;  // absent: asked before in this session
  std::optional<std::uint32_t> count;
  std::optional<base::Error> error;
};

// What each GPU says of its links, until all have.
struct Live::LinkRound {
  struct Answer {
    hw::nvml::LinksOfGpu links;
    bool whole = false;  // no call failed
  };
  std::uint64_t session = 0;
  std::set<model::PciAddress> peers;
  std::vector<Answer> heard;
};

Live::Live(net::Loop& loop,
           Driver& driver,
           Options options,
           const std::vector<Remembered>& remembered)
    : loop_(loop),
      nvml_(driver),
      options_(std::move(options)),
      known_(remembered),
      rest_timer_(loop.NewTimer("look")),
      gather_timer_(loop.NewTimer("gather")),
      patience_timer_(loop.NewTimer("patience")),
      current_(std::make_shared<Snapshot>()) {}

Live::~Live() { *alive_ = false; }

void Live::Start() {
  rest_timer_->Every(options_.rest, [this] { Look({Part::kModes}); });
  Look(Parts::All());
}

void Live::Look(Parts parts, Done done) {
  next_ |= parts;
  if (done) next_dones_.push_back(std::move(done));
  wanted_ = true;
  if (!looking_ && !reopening_) Begin();
}

void Live::LookPatiently(Parts parts, Done done) {
  Look(parts, [this, until = loop_.clock().Now() + options_.patience,
               done = std::move(done)](const SnapshotPtr&) mutable {
    patient_.push_back({until, std::move(done)});
  });
}

void Live::LookAtLinks() {
  links_of_ = 0;
  Look({Part::kModes});
}

void Live::Begin(MayReopen may_reopen) {
  looking_ = true;
  ++look_;
  wanted_ = false;
  parts_ = std::exchange(next_, {});
  dones_.insert(dones_.end(), std::make_move_iterator(next_dones_.begin()),
                std::make_move_iterator(next_dones_.end()));
  next_dones_.clear();
  driver_heard_ = false;
  if (may_reopen == MayReopen::kYes) reopen_wanted_ = reopen_refused_ = false;
  ScanBus();
  // The library knows the GPUs that the driver had when it was opened, of those the ones whose node
  // it could open, and no others.
  if (session_ == 0) {
    opened_for_ = hw::BoundToNvidia(bus_);
    opened_with_ = hw::ListDeviceNodes(options_.root);
  }
  const bool others = opened_for_ != hw::BoundToNvidia(bus_) || NodeCame();
  if (others && may_reopen == MayReopen::kYes && Reopen()) return;
  const std::set<model::PciAddress> probed = std::exchange(probed_, {});
  for (const model::PciAddress& pci : known_.addresses()) {
    if (known_.IsLeftAlone(pci) && !probed.contains(pci)) continue;
    if (late_.contains(pci))
      missed_ |= parts_;
    else
      awaited_.insert(pci);
  }
  gather_timer_->After(options_.gather, [this] { Gathered(); });
  AskDriver();
  for (const model::PciAddress& pci : std::set(awaited_)) AskGpu(pci);
}

void Live::ScanBus() {
  base::Result<std::vector<hw::sysfs::PciGpu>> bus = hw::sysfs::ScanPciGpus(options_.root);
  problems_.clear();
  if (bus.ok()) {
    bus_ = *std::move(bus);
    const std::vector<model::PciAddress> bound = hw::BoundToNvidia(bus_);
    known_.OnBus(bound);
    // Known and not on the bus: that is heard too.
    for (const auto& [pci, stale] : known_.stale())
      if (std::find(bound.begin(), bound.end(), pci) == bound.end())
        heard_at_[pci] = loop_.clock().Now();
  } else if (bus.error().code() != base::ErrorCode::kNotFound) {
    // Nothing vanishes because it could not be listed.
    problems_.push_back({"", bus.error()});
  }
}

bool Live::NodeCame() const {
  if (!known_.AnyUnlisted()) return false;
  const std::vector<model::DeviceNode> nodes = hw::ListDeviceNodes(options_.root);
  return std::any_of(nodes.begin(), nodes.end(), [&](const model::DeviceNode& node) {
    const std::optional<std::string_view> rest = base::WithoutPrefix(node.path, "/dev/nvidia");
    return rest && base::ParseUnsigned(*rest) &&
           std::find(opened_with_.begin(), opened_with_.end(), node) == opened_with_.end();
  });
}

void Live::AskDriver() {
  const auto handed = std::make_shared<Handed<DriverAnswer>>();
  nvml_.Submit(
      "", nvml_.LimitsFor({}),
      [handed, known = session_](const Session& session, CallWatch& watch) {
        DriverAnswer answer;
        answer.session = session.generation();
        if (session.generation() != known) answer.driver = session.driver();
        const base::Result<std::uint32_t> count = session.CountDevices(watch);
        if (count.ok()) answer.count = *count;
        if (!count.ok()) answer.error = count.error();
        handed->Set(std::move(answer));
      },
      [this, handed, loop = &loop_, alive = alive_](const Driver::Report& report) {
        loop->Post([this, handed, report, alive] {
          if (*alive) HeardDriver(report, handed->Get());
        });
      });
}

void Live::AskGpu(const model::PciAddress& pci) {
  const auto handed = std::make_shared<Handed<GpuAnswer>>();
  nvml_.Submit(
      hw::nvml::KeyOf(pci), nvml_.LimitsFor(nvml_.options().attach),
      [handed, question = known_.Question(pci, parts_)](const Session& session, CallWatch& watch) {
        hw::nvml::LookAt(session, question, watch,
                         [&](const GpuAnswer& answer) { handed->Set(answer); });
      },
      [this, pci, handed, look = look_, loop = &loop_,
       alive = alive_](const Driver::Report& report) {
        loop->Post([this, pci, handed, look, report, alive] {
          if (*alive) HeardGpu(look, pci, report, handed->Get());
        });
      });
}

// Another session than the one before: whatever was read in that one is to be read again.
void Live::NoteSession(std::uint64_t generation) {
  if (generation == session_) return;
  session_ = generation;
  known_.NewSession();
}

// Once a session: every GPU says so.
void Live::NoteCutOff() {
  if (session_ == 0 || std::exchange(cut_off_session_, session_) == session_) return;
  ++cut_off_;
}

void Live::HeardDriver(const Driver::Report& report, const DriverAnswer& answer) {
  driver_heard_ = true;
  // A call that only failed does not say that the driver was loaded anew.
  if (report.Done() && answer.error && hw::nvml::MeansSessionLost(*answer.error)) NoteCutOff();
  if (report.Done() && !answer.error) {
    NoteSession(answer.session);
    if (answer.driver) driver_ = answer.driver;
    driver_error_.reset();
    if (answer.count) count_ = *answer.count;
  } else if (report.Done() && Reopen()) {
    // A library that cannot even count is not talking to the driver any more.
    return;
  } else if (report.outcome == Outcome::kNoDriver || answer.error) {
    driver_.reset();
    session_ = 0;
    driver_error_ = report.error ? report.error : answer.error;
  }
  // Later than its look waited for it.
  if (!looking_ && !reopening_) return Publish();
  Gathered();
}

void Live::HeardGpu(std::uint64_t look,
                    const model::PciAddress& pci,
                    const Driver::Report& report,
                    const GpuAnswer& answer) {
  const auto late = late_.find(pci);
  const bool was_late = late != late_.end() && late->second.look == look;
  if (was_late) late_.erase(late);
  if (look == look_) awaited_.erase(pci);
  if (report.Done()) heard_at_[pci] = loop_.clock().Now();
  if (answer.handle) NoteSession(answer.handle->generation);
  known_.Absorb(pci, answer, report.Done() ? std::optional(loop_.clock().Now()) : std::nullopt);
  if (answer.session_lost) {
    NoteCutOff();
    Reopen();
  } else if (!report.Done()) {
    known_.Unanswered(pci, hw::nvml::FaultFrom(report));
  }
  if (was_late) {
    PublishLate();
    if (report.Done() && !missed_.empty()) Look(std::exchange(missed_, {}));
    AnswerPatient();
    return;
  }
  if (awaited_.empty()) Gathered();
}

// Closes the session, so that the next look opens another: the driver was replaced, or GPUs came
// that this one does not know. Where a call keeps it open, the look goes on in the old one.
bool Live::Reopen() {
  if (reopening_) return true;
  reopen_wanted_ = true;
  // Once a look: whoever keeps it open was waited for.
  if (reopen_refused_ || sessions_lost_ >= kMostLostSessions) return false;
  ++sessions_lost_;
  reopening_ = true;
  nvml_.SubmitReopen(nvml_.options().release,
                     [this, loop = &loop_, alive = alive_](const base::Result<void>& end) {
                       loop->Post([this, end, alive] {
                         if (*alive) Reopened(end);
                       });
                     });
  return true;
}

void Live::Reopened(const base::Result<void>& closed) {
  reopening_ = false;
  if (closed.ok()) {
    session_ = 0;
    known_.NewSession();
    unclosable_.reset();
  } else {
    // It was not lost: the next look tries again.
    --sessions_lost_;
    reopen_refused_ = true;
    unclosable_ = closed.error();
  }
  looking_ = false;
  awaited_.clear();
  gather_timer_->Cancel();
  next_ |= parts_;
  Begin(MayReopen::kNo);
}

// All have answered, or the look has waited long enough: those that have not are late.
void Live::Gathered() {
  if (!looking_ || reopening_) return;
  const bool all = driver_heard_ && awaited_.empty();
  if (!all && gather_timer_->armed()) return;
  gather_timer_->Cancel();
  for (const model::PciAddress& pci : awaited_)
    late_.emplace(pci, Late{look_, loop_.clock().Now()});
  awaited_.clear();
  if (driver_error_) {
    const model::Fault fault{model::FaultKind::kUnreadable,
                             "the driver's library does not answer: see the driver's error"};
    for (const model::PciAddress& pci : known_.addresses()) known_.Unanswered(pci, fault);
  } else if (all) {
    sessions_lost_ = 0;
  }
  Publish();
  if (session_ != 0 && late_.empty() && LinksWanted()) AskLinks();
  Finish();
}

void Live::Finish() {
  looking_ = false;
  // A look that the driver has not answered yet says nothing of it.
  if (driver_heard_ && !reopen_wanted_) unclosable_.reset();
  if (looked_) looked_(current_);
  for (const Done& done : std::exchange(dones_, {})) done(current_);
  // Of one that came back meanwhile the next look asks what this one could not.
  if (!wanted_) AnswerPatient();
  if (wanted_ && !looking_) Begin();
}

void Live::AnswerPatient() {
  const Time now = loop_.clock().Now();
  const bool late =
      looking_ || reopening_ || std::any_of(late_.begin(), late_.end(), [&](const auto& each) {
        return now - each.second.since < options_.patience;
      });
  std::vector<Patient> ripe;
  if (!late) {
    ripe = std::exchange(patient_, {});
  } else {
    const auto over = std::stable_partition(patient_.begin(), patient_.end(),
                                            [&](const Patient& each) { return each.until > now; });
    ripe.assign(std::make_move_iterator(over), std::make_move_iterator(patient_.end()));
    patient_.erase(over, patient_.end());
  }
  if (patient_.empty())
    patience_timer_->Cancel();
  else
    patience_timer_->After(patient_.front().until - now, [this] { AnswerPatient(); });
  for (const Patient& each : ripe) each.done(current_);
}

bool Live::LinksWanted() const {
  if (links_of_ != session_) return true;
  const std::set<model::PciAddress> on = WithMig(current_->inventory);
  const std::vector<hw::nvml::Peer> peers = known_.Peers();
  return std::any_of(peers.begin(), peers.end(), [&](const hw::nvml::Peer& peer) {
    const auto asked = linked_.find(peer.pci);
    return asked == linked_.end() || asked->second != on.contains(peer.pci);
  });
}

void Live::AskLinks() {
  links_of_ = session_;
  linked_.clear();
  const auto round = std::make_shared<LinkRound>();
  round->session = session_;
  const std::vector<hw::nvml::Peer> peers = known_.Peers();
  const std::set<model::PciAddress> on = WithMig(current_->inventory);
  for (const hw::nvml::Peer& peer : peers) {
    linked_.emplace(peer.pci, on.contains(peer.pci));
    round->peers.insert(peer.pci);
  }
  for (const hw::nvml::Peer& peer : peers) {
    const auto handed = std::make_shared<Handed<LinkRound::Answer>>();
    handed->Set({{peer.pci, {}, {}, 0}, false});
    nvml_.Submit(
        hw::nvml::KeyOf(peer.pci), nvml_.LimitsFor({}),
        [handed, peer, peers, wanted = session_](const Session& session, CallWatch& watch) {
          // Handles are of one session alone.
          if (session.generation() != wanted) return;
          hw::nvml::Caller call = session.CallerFor(watch);
          hw::nvml::DeviceCalls calls(call, peer.device, peer.pci.ToString());
          hw::nvml::LinksOfGpu links = hw::nvml::ReadLinks(calls, peer.pci, peers);
          handed->Set({std::move(links), calls.problems().empty() && !calls.over()});
        },
        [this, handed, round, loop = &loop_, alive = alive_](const Driver::Report&) {
          loop->Post([this, handed, round, alive] {
            if (!*alive) return;
            round->heard.push_back(handed->Get());
            if (round->heard.size() == round->peers.size()) HeardLinks(*round);
          });
        });
  }
}

// What a GPU could not be asked about stays as it was heard before.
void Live::HeardLinks(LinkRound& round) {
  if (round.session != session_) return;
  for (LinkRound::Answer& answer : round.heard) {
    const auto [known, first] = heard_links_.try_emplace(answer.links.gpu, answer.links);
    if (!answer.whole) linked_.erase(answer.links.gpu);
    if (first || !answer.whole) continue;
    for (const auto& [peer, path] : known->second.paths)
      if (!round.peers.contains(peer)) answer.links.paths.emplace(peer, path);
    for (const auto& [peer, count] : known->second.nvlinks)
      if (!round.peers.contains(peer)) answer.links.nvlinks.emplace(peer, count);
    known->second = std::move(answer.links);
  }
  std::vector<hw::nvml::LinksOfGpu> all;
  for (const auto& [gpu, links] : heard_links_) all.push_back(links);
  links_ = hw::nvml::Combine(all);
  Publish();
}

// Of a node with many GPUs all may be late on a busy machine, and each snapshot reads the files of
// all: those that have answered by the time that the loop comes back to it are one.
void Live::PublishLate() {
  if (late_.empty()) return Publish();
  if (std::exchange(publishes_late_, true)) return;
  loop_.Post([this, alive = alive_] {
    if (!*alive) return;
    publishes_late_ = false;
    Publish();
  });
}

void Live::Publish() {
  hw::nvml::Facts facts = known_.Facts();
  facts.driver = driver_;
  facts.driver_error = driver_error_;
  if (driver_) facts.count = count_;
  facts.links = links_.links;
  facts.switch_links = links_.switch_links;
  facts.problems.insert(facts.problems.end(), problems_.begin(), problems_.end());
  Snapshot next;
  next.inventory = hw::Assemble(options_.root, bus_, std::move(facts));
  next.session = session_;
  next.stale = known_.stale();
  const Changes changes = Difference(current_->inventory, next.inventory);
  if (!changes.any() && next.session == current_->session && next.stale == current_->stale) return;
  next.revision = current_->revision + 1;
  next.inventory.generation = next.revision;
  next.revisions = current_->revisions;
  next.revisions.identity += changes.identity ? 1 : 0;
  next.revisions.shape += changes.shape ? 1 : 0;
  next.revisions.readings += changes.readings ? 1 : 0;
  next.revisions.holders += changes.holders ? 1 : 0;
  current_ = std::make_shared<const Snapshot>(std::move(next));
  // A subscriber may end its own subscription, or another's.
  const SnapshotPtr published = current_;
  for (const std::shared_ptr<Subscriber>& each :
       std::vector(subscribers_.begin(), subscribers_.end())) {
    if (*each) (*each)(published, changes);
  }
}

std::shared_ptr<void> Live::Subscribe(Subscriber subscriber) {
  auto kept = std::make_shared<Subscriber>(std::move(subscriber));
  subscribers_.push_back(kept);
  return {kept.get(), [this, kept](void*) {
            *kept = nullptr;
            std::erase(subscribers_, kept);
          }};
}

}  // namespace partita::service::inventory
