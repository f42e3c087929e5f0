#include "agent/ledger_keeper.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "agent/boot_id.h"
#include "agent/ledger/plan_scope.h"
#include "agent/ledger_document.h"
#include "hw/nvml/quiet_thread.h"
#include "model/unread.h"
#include "service/ledger/gate.h"
#include "service/mig/applied.h"

namespace partita::agent {
namespace {

using base::LogKey;
using service::inventory::SnapshotPtr;
using service::ledger::Device;
using service::ledger::Finding;
using service::ledger::FindingKind;
using service::ledger::Receipt;
using service::ledger::Time;

// From a list that is sent to kubelet until it gives nothing of it away: milliseconds, as a rule.
constexpr std::chrono::milliseconds kKubeletHears{200};

// Another text when the file is another one, or has other bytes.
std::string StampOf(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return "";
  return fmt::format("{}:{}:{}.{}:{}", about.st_dev, about.st_ino, about.st_mtim.tv_sec,
                     about.st_mtim.tv_nsec, about.st_size);
}

// Whether the look knows what MIG made of the GPU of this device.
bool WasRead(const model::Inventory& inventory, const Device& device) {
  const service::ledger::Board board = service::ledger::BoardOf(device);
  return std::any_of(inventory.gpus.begin(), inventory.gpus.end(), [&](const model::Gpu& gpu) {
    return gpu.uuid && gpu.uuid->value() == board.value() && !model::WhyMigUnknown(gpu);
  });
}

}  // namespace

LedgerKeeper::LedgerKeeper(net::Loop& loop, base::Log& log, net::Task changed)
    : loop_(loop),
      log_(log),
      changed_(std::move(changed)),
      flush_timer_(loop.NewTimer("ledger-flush")),
      hears_(loop.NewTimer("mig-withdrawn")) {}

LedgerKeeper::~LedgerKeeper() {
  *alive_ = false;
  if (sync_.joinable()) sync_.join();
}

Time LedgerKeeper::Now() const {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(loop_.clock().WallNow());
}

base::Error LedgerKeeper::Closed() const {
  return base::MakeError(
      base::ErrorCode::kUnavailable, "nobody knows who holds what: {}",
      not_open_.empty() ? "the agent has not looked at this node yet" : not_open_);
}

void LedgerKeeper::Open(const std::string& state_directory) {
  directory_ = state_directory;
  TryOpen();
}

void LedgerKeeper::TryOpen() {
  if (directory_.empty()) return;  // closed
  base::Result<Ledger::Opened> opened = Ledger::Open({directory_});
  if (!opened.ok()) {
    if (not_open_.empty())
      log_.Error("the ledger cannot be opened: no change is made through this agent",
                 base::ErrorFields(opened.error()));
    return SetProblem(not_open_, opened.error().ToString());
  }
  for (const std::string& warning : opened->warnings)
    log_.Warn("ledger", {{LogKey::kError, warning}});
  ledger_.emplace(std::move(opened->ledger));
  knows_pods_ = opened->warnings.empty() && !ledger_->state().holds.empty();
  SetProblem(not_open_, "");
}

void LedgerKeeper::Settle(const model::Inventory& inventory) {
  if (!ledger_) return;
  base::Result<std::string> boot = ReadBootId();
  if (!boot.ok()) {
    // As after a reboot: claims are void rather than trusted.
    log_.Warn("the ledger cannot tell whether the machine was booted anew",
              base::ErrorFields(boot.error()));
    boot = std::string("unknown");
  }
  (void)ReadLayout();
  // A plan of the last life: what it made is of our making.
  std::vector<Device> ours;
  for (const auto& [id, plan] : ledger_->state().plans)
    if (plan.locked && !plan.ended) ours.insert(ours.end(), plan.scope.begin(), plan.scope.end());
  const std::vector<Finding> findings =
      ledger_->Settle(inventory, *boot, AskedFor(inventory, layout_, ours), Now());
  settled_ = true;
  TellFindings(findings);
  for (const Finding& finding : findings)
    if (finding.kind == FindingKind::kInterrupted && !TryEndPlan(finding.name, inventory))
      to_end_.insert(finding.name);
  Written();
}

void LedgerKeeper::TellFindings(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    switch (finding.kind) {
      case FindingKind::kInterrupted:
        log_.Warn(
            fmt::format("{} when the agent ended; the GPUs are as it left them", finding.text));
        break;
      case FindingKind::kForeign: break;  // TellForeign
      case FindingKind::kDrop: log_.Info(finding.text); break;
      case FindingKind::kFinish:
      case FindingKind::kRollBack:
      case FindingKind::kGone: log_.Warn(finding.text); break;
    }
  }
  TellForeign();
}

// Once when it is seen first.
void LedgerKeeper::TellForeign() {
  std::set<std::string> foreign;
  for (const auto& [key, seen] : ledger_->state().instances) {
    if (!seen.foreign) continue;
    foreign.insert(key);
    if (told_foreign_.contains(key)) continue;
    log_.Warn("a GPU instance that is not of our making: it is left alone and not offered",
              {{LogKey::kGpu, seen.gpu.uuid.value()},
               {LogKey::kMig,
                fmt::format("profile {} at slice {}", seen.profile.value(), seen.memory.start)}});
  }
  told_foreign_ = std::move(foreign);
}

bool LedgerKeeper::ReadLayout() {
  std::string stamp = StampOf(service::mig::AppliedFile(directory_));
  if (stamp == layout_stamp_) return false;
  layout_stamp_ = std::move(stamp);
  base::Result<service::mig::Remembered> applied = service::mig::RecallApplied(directory_);
  if (!applied.ok()) {
    // Whatever exists is then wanted: nothing is withheld because a file is bad.
    log_.Warn("what was applied last is not known", base::ErrorFields(applied.error()));
    layout_.reset();
    return true;
  }
  if (!applied->warning.empty())
    log_.Warn("what was applied last", {{LogKey::kError, applied->warning}});
  layout_ = std::move(applied->layout);
  return true;
}

void LedgerKeeper::Look(const model::Inventory& inventory, const std::vector<Device>& ours) {
  // Written behind: it cannot fail.
  (void)ledger_->Observe(inventory, AskedFor(inventory, layout_, ours), Now());
  TellForeign();
}

void LedgerKeeper::Observe(const SnapshotPtr& snapshot) {
  const SnapshotPtr before = std::exchange(seen_, snapshot);
  if (!ledger_) TryOpen();
  if (!ledger_) return;
  if (!settled_) return Settle(snapshot->inventory);
  const bool other = before == nullptr ||
                     before->revisions.identity != snapshot->revisions.identity ||
                     before->revisions.shape != snapshot->revisions.shape;
  const bool other_layout = ReadLayout();
  if (other || other_layout) Look(snapshot->inventory, unseen_);
  std::erase_if(unseen_,
                [&](const Device& device) { return WasRead(snapshot->inventory, device); });
  for (const std::string& id : std::set(to_end_))
    if (TryEndPlan(id, snapshot->inventory)) to_end_.erase(id);
  (void)ledger_->Sweep(Now());
  Written();
}

model::PinnedParts LedgerKeeper::Pinned(const model::Inventory& inventory) const {
  if (!settled_) return {};
  return service::ledger::Pinned(ledger_->state(), inventory);
}

base::Result<std::string> LedgerKeeper::BeginPlan(
    const model::Inventory& node, const std::vector<service::mig::GpuSteps>& steps) {
  TRY(id, WithdrawPlan(node, steps));
  TRY_VOID(LockPlan(id, node));
  return id;
}

void LedgerKeeper::BeginPlan(const model::Inventory& node,
                             const std::vector<service::mig::GpuSteps>& steps,
                             const Begun& begun) {
  if (!offers_ || !offers_()) return begun(BeginPlan(node, steps));
  base::Result<std::string> id = WithdrawPlan(node, steps);
  if (!id.ok()) return begun(std::move(id));
  hears_->After(kKubeletHears, [this, id = *std::move(id), node, begun] {
    base::Result<void> locked = LockPlan(id, node);
    begun(locked.ok() ? base::Result<std::string>(id) : std::move(locked).error());
  });
}

base::Result<std::string> LedgerKeeper::WithdrawPlan(
    const model::Inventory& node, const std::vector<service::mig::GpuSteps>& steps) {
  if (!settled_) return Closed();
  if (!knows_holders())
    return base::Error(
               base::ErrorCode::kUnavailable,
               "nobody knows which pods hold devices: kubelet has not told since this agent "
               "began its ledger")
        .WithHint(
            "see that kubelet runs and that node.kubeletRoot is its directory, then try again");
  std::string id;
  for (std::uint64_t n = 1; id.empty() || ledger_->state().plans.contains(id); ++n)
    id = fmt::format("mig-{}", n);
  const std::vector<Device> scope = ScopeOf(node, steps);
  if (scope.empty()) return id;  // nothing that anybody could hold
  Look(node, scope);
  base::Result<Receipt> taken = ledger_->Withdraw(id, scope, Now());
  if (taken.ok()) withdrawn_[id] = scope.size();
  PlanMoved(id, taken.ok(), node);
  if (!taken.ok()) return std::move(taken).error();
  return id;
}

base::Result<void> LedgerKeeper::LockPlan(const std::string& id, const model::Inventory& node) {
  if (!settled_) return Closed();
  const auto withdrawn = withdrawn_.extract(id);
  if (withdrawn.empty()) return {};  // nothing that anybody could hold
  base::Result<Receipt> taken = ledger_->Lock(id, Now());
  const bool all = taken.ok() && taken->locked.size() == withdrawn.mapped();
  PlanMoved(id, all, node);
  if (all) return {};
  // kConflict: nothing is left of it.
  if (!taken.ok() && taken.error().code() != base::ErrorCode::kConflict)
    return std::move(taken).error();
  return base::Error(base::ErrorCode::kBusy, "a pod was given a device of this change meanwhile")
      .WithHint("plan again: partita mig plan shows who has it");
}

void LedgerKeeper::PlanMoved(const std::string& id, bool good, const model::Inventory& node) {
  if (!good && !TryEndPlan(id, node)) to_end_.insert(id);
  Written();
  if (plans_changed_) plans_changed_();
}

void LedgerKeeper::EndPlan(const std::string& id) {
  if (!settled_) return;
  const model::Inventory nothing;
  if (!TryEndPlan(id, seen_ ? seen_->inventory : nothing)) to_end_.insert(id);
  Written();
  if (plans_changed_) plans_changed_();
}

base::Result<void> LedgerKeeper::Reserve(const std::string& resource,
                                         const std::vector<Device>& devices) {
  if (!settled_) {
    log_.Warn("a pod was given devices that no ledger knows of", {{LogKey::kResource, resource}});
    return {};
  }
  const base::Result<Receipt> taken = ledger_->Reserve(
      {service::ledger::Pod{.pod_namespace = {}, .name = {}, .container = {}, .resource = resource},
       devices},
      Now());
  Written();
  if (!taken.ok()) return taken.error();
  for (const service::ledger::Cancelled& lost : taken->cancelled)
    log_.Info(fmt::format("a pod was given {}: operation {} leaves it alone", ToString(lost.device),
                          lost.plan));
  return {};
}

void LedgerKeeper::Bind(const Device& device, const service::ledger::Owner& owner) {
  if (!settled_) return;
  if (const base::Result<Receipt> bound = ledger_->Bind(device, owner, Now()); !bound.ok())
    log_.Warn("kubelet says that a pod has what somebody else has",
              base::ErrorFields(bound.error()));
  Written();
}

void LedgerKeeper::Release(const Device& device, const service::ledger::Owner& owner) {
  if (!settled_) return;
  // Written behind: it cannot fail.
  (void)ledger_->Release(device, owner, Now());
  log_.Debug(fmt::format("{} has given back {}", ToString(owner), ToString(device)));
  Written();
}

bool LedgerKeeper::TryEndPlan(const std::string& id, const model::Inventory& inventory) {
  const auto plan = ledger_->state().plans.find(id);
  if (plan == ledger_->state().plans.end() || plan->second.ended) return true;
  const std::vector<Device> scope = plan->second.scope;
  const bool locked = plan->second.locked;
  if (const base::Result<Receipt> ended = ledger_->EndPlan(id, Now()); !ended.ok()) {
    log_.Warn(fmt::format("operation {} is over, and still holds its devices", id),
              base::ErrorFields(ended.error()));
    return false;
  }
  // What it worked on was forgotten, and is seen again.
  if (locked) {
    (void)ReadLayout();
    Look(inventory, scope);
    for (const Device& device : scope)
      if (!WasRead(inventory, device)) unseen_.push_back(device);
  }
  return true;
}

void LedgerKeeper::Written() {
  const std::optional<Time> due = ledger_->FlushDue();
  if (!due) return flush_timer_->Cancel();
  if (syncing_ || flush_timer_->armed()) return;
  // The wall's clock may have been set meanwhile.
  const net::Duration left = *due - Now();
  flush_timer_->After(
      std::clamp<net::Duration>(left, net::Duration::zero(), service::ledger::kWriteBehind),
      [this] { Flush(); });
}

void LedgerKeeper::Flush() {
  base::Result<service::ledger::Journal::Sync> sync = ledger_->BeginFlush(Now());
  if (!sync.ok()) return Synced(sync.error());
  if (!*sync) return Synced({});
  syncing_ = std::make_shared<base::Result<void>>();
  sync_ = hw::nvml::StartQuietThread("ledger-sync", [this, loop = &loop_, alive = alive_,
                                                     syncing = syncing_, wait = *std::move(sync)] {
    *syncing = wait();
    loop->Post([this, alive, syncing] {
      if (*alive && syncing == syncing_) EndSync();
    });
  });
}

// The thread is at its end.
void LedgerKeeper::EndSync() {
  sync_.join();
  const base::Result<void> end = *std::exchange(syncing_, nullptr);
  ledger_->EndFlush(end, Now());
  Synced(end);
}

void LedgerKeeper::Synced(const base::Result<void>& end) {
  if (!end.ok() && not_written_.empty())
    log_.Warn("the ledger is not on disk, and tried again", base::ErrorFields(end.error()));
  if (end.ok() && !not_written_.empty()) log_.Info("the ledger is on disk again");
  SetProblem(not_written_, end.ok() ? "" : end.error().ToString());
  Written();
}

base::Result<void> LedgerKeeper::Close() {
  if (syncing_) EndSync();
  flush_timer_->Cancel();
  seen_.reset();
  unseen_.clear();
  directory_.clear();
  settled_ = false;
  base::Result<void> end;
  if (ledger_) end = ledger_->Flush(Now());
  ledger_.reset();
  return end;
}

void LedgerKeeper::SetProblem(std::string& problem, const std::string& now) {
  if (std::exchange(problem, now) != now && changed_) changed_();
}

base::Value LedgerKeeper::Counts() const {
  return ledger_ ? LedgerCounts(ledger_->state()) : base::Value();
}

base::Value LedgerKeeper::Document() const {
  return ledger_ ? LedgerDocument(ledger_->state(), Now()) : base::Value();
}

}  // namespace partita::agent
