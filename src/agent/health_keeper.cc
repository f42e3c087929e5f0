#include "agent/health_keeper.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "agent/boot_id.h"
#include "base/files.h"
#include "base/state_file.h"
#include "base/text.h"
#include "hw/nvml/quiet_thread.h"
#include "hw/sysfs/config_space.h"
#include "model/unread.h"
#include "service/health/codec.h"
#include "service/health/document.h"
#include "service/health/meant.h"

namespace partita::agent {
namespace {

using base::LogKey;
using hw::nvml::Part;
using hw::nvml::Parts;
using model::HealthState;
using service::health::Health;
using service::health::NodeFacts;
using service::health::Transition;
using service::inventory::Changes;
using service::inventory::SnapshotPtr;

// What a proof may need.
constexpr Parts kProof = {Part::kModes, Part::kReadings, Part::kHolders};
constexpr std::uint64_t kXidRecoveryAction = 154;
constexpr std::string_view kOffTheBus =
    "it does not answer on the PCI bus: see the kernel log, then rescan the bus or reboot the node";

base::StateFile HealthFileIn(const std::string& directory) {
  return {base::JoinPath(directory, "health.json"), "health", 1};
}

// The kernel gives each directory of sysfs a number of its own when it is made: another one is
// another load of the module.
std::uint64_t ModuleNumber(const std::string& root) {
  struct stat about {};
  if (lstat(base::JoinPath(root, "sys/module/nvidia").c_str(), &about) != 0) return 0;
  return about.st_ino;
}

// Of what an operator may name: an index is nobody's name by itself.
std::string WordsFor(const std::string& what) {
  if (what == "all") return "all GPUs";
  return base::ParseUnsigned(what) ? "GPU " + what : what;
}

}  // namespace

HealthKeeper::HealthKeeper(net::Loop& loop, base::Log& log, Node& node)
    : loop_(loop), log_(log), node_(node), look_timer_(loop.NewTimer("health")) {
  node_.OnEvents({[this](const hw::nvml::Event& event) { Heard(event); },
                  [this](const std::vector<model::PciAddress>& deaf) { SetMonitoring(deaf); }});
}

HealthKeeper::~HealthKeeper() {
  *alive_ = false;
  node_.OnEvents({});
  if (write_.joinable()) write_.join();
}

void HealthKeeper::Start(HealthOptions options) {
  options_ = std::move(options);
  Recall();
  started_ = true;
  subscription_ = node_.live().Subscribe([this](const SnapshotPtr&, const Changes&) { Looked(); });
  SetMonitoring(deaf_);
  for (const hw::nvml::Event& event : std::exchange(early_, {})) Heard(event);
  Looked();
}

void HealthKeeper::Recall() {
  base::Result<std::string> boot = ReadBootId();
  if (!boot.ok())
    log_.Warn("whether the machine was booted anew is not known: faults of before are forgotten",
              base::ErrorFields(boot.error()));
  boot_ = boot.ok() ? *boot : "unknown";
  health_ = {};
  written_ = Encode(health_, boot_);
  const base::Result<base::StateRead> read = ReadState(HealthFileIn(options_.state_directory));
  if (!read.ok()) {
    log_.Error("what was wrong before is not known", base::ErrorFields(read.error()));
    return;
  }
  if (!read->warning.empty()) log_.Warn("health.json", {{LogKey::kError, read->warning}});
  if (!read->payload) return;
  base::Result<Health> health = service::health::Decode(*read->payload, boot_);
  if (!health.ok()) {
    log_.Error("what was wrong before is not known", base::ErrorFields(health.error()));
    return;
  }
  written_ = *read->payload;
  // The rules may have changed while no agent ran.
  Apply(OnOptions(*std::move(health), options_.xids));
}

void HealthKeeper::Stop() {
  look_timer_->Cancel();
  subscription_.reset();
  if (!std::exchange(started_, false)) return;
  if (writing_) EndWrite();
  const std::string payload = Encode(health_, boot_);
  if (payload == written_) return;
  const base::Result<void> end = WriteState(HealthFileIn(options_.state_directory), payload);
  if (!end.ok()) log_.Error("faults are not remembered", base::ErrorFields(end.error()));
}

void HealthKeeper::SetXids(service::health::XidOptions xids) {
  options_.xids = std::move(xids);
  if (started_) Apply(OnOptions(health_, options_.xids));
}

const model::Gpu* HealthKeeper::GpuAt(const model::PciAddress& pci) const {
  for (const model::Gpu& gpu : node_.live().current()->inventory.gpus)
    if (gpu.pci == pci) return &gpu;
  return nullptr;
}

NodeFacts HealthKeeper::Facts() const {
  NodeFacts facts;
  facts.now = loop_.clock().Now();
  facts.wall = loop_.clock().WallNow();
  const service::inventory::Live& live = node_.live();
  facts.driver = Driver();
  for (const model::Gpu& gpu : live.current()->inventory.gpus) {
    const service::health::ReadTimes times{.modes = live.ReadAt(gpu.pci, Part::kModes),
                                           .readings = live.ReadAt(gpu.pci, Part::kReadings),
                                           .holders = live.ReadAt(gpu.pci, Part::kHolders),
                                           .instances = live.ReadAt(gpu.pci, Part::kInstances),
                                           .heard = live.HeardAt(gpu.pci)};
    auto one = service::health::FactsOf(gpu, times);
    if (!one) continue;
    const std::vector<model::VfioGpu>& vfio = live.current()->inventory.vfio;
    one->given_away = std::any_of(vfio.begin(), vfio.end(),
                                  [&](const model::VfioGpu& each) { return each.pci == gpu.pci; });
    one->off_the_bus = spared_.contains(one->gpu) && IsOffTheBus(SignOf(gpu.pci));
    if (one->off_the_bus) one->faults.push_back({model::FaultKind::kLost, std::string(kOffTheBus)});
    facts.gpus.push_back(*std::move(one));
  }
  return facts;
}

service::health::DriverLife HealthKeeper::Driver() const {
  return {ModuleNumber(options_.root), node_.live().cut_off()};
}

service::health::Sign HealthKeeper::SignOf(const model::PciAddress& pci) const {
  return {Driver(), hw::sysfs::ConfigWord(options_.root, pci)};
}

void HealthKeeper::LeaveSparedAlone() {
  spared_ = Spared(health_);
  std::set<model::PciAddress> addresses;
  for (const model::Gpu& gpu : node_.live().current()->inventory.gpus)
    if (gpu.uuid && spared_.contains(*gpu.uuid)) addresses.insert(gpu.pci);
  node_.live().LeaveAlone(std::move(addresses));
}

bool HealthKeeper::ProbeSpared() {
  std::map<model::GpuUuid, service::health::Sign> signs;
  for (const model::Gpu& gpu : node_.live().current()->inventory.gpus)
    if (gpu.uuid && spared_.contains(*gpu.uuid)) signs.emplace(*gpu.uuid, SignOf(gpu.pci));
  const std::set<model::GpuUuid> due = probes_.Due(signs, loop_.clock().Now());
  for (const model::Gpu& gpu : node_.live().current()->inventory.gpus)
    if (gpu.uuid && due.contains(*gpu.uuid)) node_.live().Probe(gpu.pci);
  return !due.empty();
}

void HealthKeeper::Heard(const hw::nvml::Event& event) {
  if (!started_) {
    early_.push_back(event);
    return;
  }
  if (event.kind == hw::nvml::EventKind::kXid) {
    const model::Gpu* gpu = GpuAt(event.gpu);
    if (gpu == nullptr || !gpu->uuid) {
      log_.Warn("an XID of a GPU that nobody knows is not counted",
                {{LogKey::kGpu, event.gpu.ToString()},
                 {LogKey::kXid, static_cast<std::int64_t>(event.data)}});
    } else {
      Apply(OnXid(health_, options_.xids,
                  {{*gpu->uuid, event.gpu_instance, event.compute_instance}, event.data}, Facts()));
      // That it is off the bus is a sign for its return, and may be over before a look is.
      if (spared_.contains(*gpu->uuid)) Apply(OnLook(health_, options_.xids, Facts()));
    }
  }
  const bool asks = event.kind == hw::nvml::EventKind::kRecoveryAction ||
                    (event.kind == hw::nvml::EventKind::kXid && event.data == kXidRecoveryAction);
  const model::Gpu* gpu = GpuAt(event.gpu);
  if (asks && gpu != nullptr && gpu->uuid) probes_.Want(*gpu->uuid);
  // What the driver asks for now, who runs there, and whose ids those are.
  Look(event.gpu_instance ? Parts{Part::kInstances} : Parts{});
}

void HealthKeeper::SetMonitoring(const std::vector<model::PciAddress>& unmonitored) {
  deaf_ = unmonitored;
  if (!started_) return;
  std::set<model::GpuUuid> gpus;
  for (const model::PciAddress& pci : unmonitored) {
    const model::Gpu* gpu = GpuAt(pci);
    if (gpu != nullptr && gpu->uuid) gpus.insert(*gpu->uuid);
  }
  Apply(OnMonitoring(health_, std::move(gpus)));
}

void HealthKeeper::Look(Parts more) {
  look_timer_->Cancel();
  (void)ProbeSpared();
  more |= kProof;
  node_.live().Look(more, [this, alive = alive_](const SnapshotPtr&) {
    if (*alive && started_) Looked();
  });
}

void HealthKeeper::Looked() {
  Apply(OnLook(health_, options_.xids, Facts()));
  // Also here: where others look all the time, the timer's turn never comes.
  if (ProbeSpared()) Look();
}

void HealthKeeper::Apply(Health next) {
  health_ = std::move(next);
  LeaveSparedAlone();
  const service::health::Time now = loop_.clock().Now();
  Publish(Summary(health_, now));
  if (!started_) return;
  Write();
  const auto wait = NextLook(health_, now);
  if (!wait) return look_timer_->Cancel();
  // From the last look on: what else is told meanwhile puts none off.
  const auto pause = std::max<net::Duration>(*wait, std::chrono::milliseconds(10));
  const base::Clock::Steady due = loop_.clock().Now() + pause;
  if (look_timer_->armed() && look_due_ <= due) return;
  look_due_ = due;
  look_timer_->After(pause, [this] { Look(); });
}

void HealthKeeper::Publish(model::NodeHealth next) {
  if (next == *current_) return;
  const NodeHealthPtr before =
      std::exchange(current_, std::make_shared<const model::NodeHealth>(std::move(next)));
  for (const Transition& transition : service::health::Transitions(*before, *current_)) {
    Tell(transition);
    if (started_ && !clearing_ && changed_) changed_(transition);
  }
  // A subscriber may end its own subscription, or another's.
  const NodeHealthPtr published = current_;
  for (const std::shared_ptr<Subscriber>& each :
       std::vector(subscribers_.begin(), subscribers_.end()))
    if (*each) (*each)(published);
}

void HealthKeeper::Tell(const Transition& transition) {
  const model::PartHealth& part = transition.now;
  // The node has told it.
  if (part.reason == "Unmonitored") return;
  base::Log::Fields fields = {{LogKey::kGpu, part.gpu.value()}};
  if (part.gpu_instance) {
    fields.push_back({LogKey::kMig, part.compute_instance
                                        ? fmt::format("GPU instance {}, compute instance {}",
                                                      *part.gpu_instance, *part.compute_instance)
                                        : fmt::format("GPU instance {}", *part.gpu_instance)});
  }
  if (part.state == HealthState::kHealthy)
    return log_.Info(fmt::format("healthy again ({} is over)", part.reason), fields);
  const service::health::Fault* fault = WorstFault(
      health_, {part.gpu, part.gpu_instance, part.compute_instance}, loop_.clock().Now());
  if (fault != nullptr && fault->cause == service::health::Cause::kXid)
    fields.push_back({LogKey::kXid, static_cast<std::int64_t>(fault->xid)});
  fields.push_back({LogKey::kHint, part.text});
  const std::string line = fmt::format("{} ({})", Word(part.state), part.reason);
  if (part.state == HealthState::kRecovering)
    log_.Info(line, fields);
  else
    log_.Warn(line, fields);
}

std::shared_ptr<void> HealthKeeper::Subscribe(Subscriber subscriber) {
  auto kept = std::make_shared<Subscriber>(std::move(subscriber));
  subscribers_.push_back(kept);
  return {kept.get(), [this, kept](void*) {
            *kept = nullptr;
            std::erase(subscribers_, kept);
          }};
}

// On a thread: a disk may take longer than an event has until it is published.
void HealthKeeper::Write() {
  if (writing_) return;
  std::string payload = Encode(health_, boot_);
  if (payload == written_) return;
  writing_ = std::make_shared<Writing>(Writing{std::move(payload), {}});
  base::Result<std::thread> thread =
      hw::nvml::TryQuietThread("health-write", [this, file = HealthFileIn(options_.state_directory),
                                                loop = &loop_, alive = alive_, writing = writing_] {
        writing->end = WriteState(file, writing->payload);
        loop->Post([this, alive, writing] {
          if (!*alive || writing != writing_) return;
          EndWrite();
          // What came meanwhile; what failed is tried again with the next change or look.
          if (writing->end.ok() && started_) Write();
        });
      });
  if (thread.ok()) {
    write_ = *std::move(thread);
    return;
  }
  writing_->end = WriteState(HealthFileIn(options_.state_directory), writing_->payload);
  EndWrite();
}

// The thread is at its end, or is waited for.
void HealthKeeper::EndWrite() {
  if (write_.joinable()) write_.join();
  const std::shared_ptr<Writing> writing = std::exchange(writing_, nullptr);
  if (writing->end.ok()) written_ = writing->payload;
  const bool failed = !writing->end.ok();
  if (failed && !not_written_)
    log_.Warn("faults are not remembered over a restart", base::ErrorFields(writing->end.error()));
  if (!failed && not_written_) log_.Info("faults are remembered again");
  not_written_ = failed;
}

base::Value HealthKeeper::Document() const {
  return HealthDocument(node_.live().current()->inventory, health_, loop_.clock().Now(),
                        domains_ ? domains_() : std::vector<model::MpsDomain>());
}

base::Result<std::uint64_t> HealthKeeper::Clear(const std::string& what) {
  TRY(meant, service::health::MeantBy(what, node_.live().current()->inventory));
  const std::size_t before = health_.faults.size();
  clearing_ = true;
  Apply(service::health::Clear(health_, meant));
  clearing_ = false;
  const std::uint64_t cleared = before - health_.faults.size();
  if (cleared > 0 && cleared_)
    cleared_(fmt::format("an operator cleared {} fault{} of {} (partita health clear)", cleared,
                         cleared == 1 ? "" : "s", WordsFor(what)));
  // What is still wrong is found again.
  Look();
  return cleared;
}

void HealthKeeper::Register(control::Server& server) {
  server.Register("health", [this](const std::shared_ptr<control::Call>& call) {
    if (!started_)
      return call->Finish(base::Error(base::ErrorCode::kBusy, "the agent is starting or stopping"));
    const model::Inventory& inventory = node_.live().current()->inventory;
    if (!inventory.driver && inventory.gpus.empty())
      return call->Finish(model::WhyNoDriver(inventory));
    call->Finish(Document());
  });
  server.Register("health.clear", [this](const std::shared_ptr<control::Call>& call) {
    if (!started_)
      return call->Finish(base::Error(base::ErrorCode::kBusy, "the agent is starting or stopping"));
    const base::Value* device = call->params().Find("device");
    if (device == nullptr || device->kind() != base::Value::Kind::kString)
      return call->Finish(
          base::Error(base::ErrorCode::kInvalid, "health.clear: device must be a text"));
    base::Result<std::uint64_t> cleared = Clear(device->AsString());
    if (!cleared.ok()) return call->Finish(std::move(cleared).error());
    log_.Warn("faults were cleared by an operator",
              {{LogKey::kGpu, device->AsString()},
               {LogKey::kCount, static_cast<std::int64_t>(*cleared)},
               {LogKey::kPid, static_cast<std::int64_t>(call->peer().pid)}});
    call->Finish(base::Value::Map().Set("cleared", *cleared));
  });
}

}  // namespace partita::agent
