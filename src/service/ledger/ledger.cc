#include "service/ledger/ledger.h"

#include <utility>

#include <fmt/format.h>

#include "service/ledger/record.h"

namespace partita::service::ledger {

// Verbs and the functions that decide them have one name.
namespace decide = ::partita::service::ledger;

base::Result<Ledger::Opened> Ledger::Open(LedgerFiles files) {
  TRY(opened, Journal::Open(files.directory), "open the ledger");
  std::vector<std::string> warnings = opened.warnings;
  Ledger ledger(std::move(files), std::move(opened));
  // Told once: what is damaged is not read again. Where this fails it is, and told again.
  if (!warnings.empty()) (void)ledger.Fold();
  return Opened{std::move(ledger), std::move(warnings)};
}

Ledger::Ledger(LedgerFiles files, Journal::Opened opened)
    : files_(std::move(files)),
      journal_(std::move(opened.journal)),
      state_(std::move(opened.snapshot.state)),
      sequence_(opened.snapshot.sequence),
      fold_next_(files_.fold_at) {}

std::vector<Finding> Ledger::Settle(const model::Inventory& inventory,
                                    const std::string& boot,
                                    const Asked& asked,
                                    Time now) {
  Verdict verdict = Verify(state_, inventory, boot, asked);
  if (!verdict.changes.empty()) {
    // Found again by the next start if it is lost.
    WriteBehind(EncodeRecord({sequence_ + 1, EncodeChanges(verdict.changes)}), now);
    ApplyAll(verdict.changes);
  }
  settled_ = true;
  return std::move(verdict.findings);
}

base::Result<Receipt> Ledger::Commit(base::Result<Decision> decision, Time now) {
  if (!settled_) {
    return base::MakeError(base::ErrorCode::kUnavailable,
                           "the ledger has not been compared with this machine yet")
        .WithHint("ask again in a moment");
  }
  if (!decision.ok()) return std::move(decision).error();
  Receipt receipt = std::move(decision->receipt);
  if (!decision->changes.empty()) {
    const std::string record = EncodeRecord({sequence_ + 1, EncodeChanges(decision->changes)});
    if (decision->durable) {
      TRY_VOID(WriteNow(record), "nothing was changed, because it could not be written down");
    } else {
      WriteBehind(record, now);
    }
    ApplyAll(decision->changes);
    FoldIfLong();
  }
  receipt.warning = unsaved_;
  return receipt;
}

base::Result<void> Ledger::WriteNow(const std::string& record) {
  if (journal_.suspect()) TRY_VOID(Fold());
  base::Result<void> written = journal_.Append(pending_ + record);
  if (!written.ok()) {
    // The disk may have it all the same: its number must not be given to another.
    if (journal_.suspect()) ++sequence_;
    return std::move(written).error().WithHint(
        fmt::format("see that the disk of {} works and has room", files_.directory));
  }
  ++sequence_;
  NothingPending();
  return {};
}

// Written now, so that a killed program loses nothing that it answered; synced later, since that
// waits for a disk. What cannot be written is tried again then.
void Ledger::WriteBehind(const std::string& record, Time now) {
  ++sequence_;
  pending_ += record;
  if (!due_) due_ = now + kWriteBehind;
  if (MustFold()) return;
  base::Result<void> written = journal_.Write(pending_);
  if (written.ok())
    pending_.clear();
  else
    unsaved_ = std::move(written).error();
}

base::Result<void> Ledger::Flush(Time now) {
  if (!due_) return {};
  base::Result<void> written = MustFold() ? Fold() : journal_.Append(pending_);
  if (!written.ok()) return FlushFailed(std::move(written).error(), now);
  NothingPending();
  return {};
}

// What has grown this long is shorter as a whole state.
bool Ledger::MustFold() const { return journal_.suspect() || pending_.size() > files_.fold_at; }

base::Result<Journal::Sync> Ledger::BeginFlush(Time now) {
  if (!due_) return Journal::Sync();
  if (MustFold()) {
    TRY_VOID(Flush(now));
    return Journal::Sync();
  }
  // First, so that nothing is written which nobody can sync.
  base::Result<Journal::Sync> sync = journal_.SyncLater();
  if (!sync.ok()) return FlushFailed(std::move(sync).error(), now);
  base::Result<void> written = journal_.Write(pending_);
  if (!written.ok()) return FlushFailed(std::move(written).error(), now);
  pending_.clear();
  due_.reset();
  return sync;
}

void Ledger::EndFlush(const base::Result<void>& end, Time now) {
  if (end.ok()) {
    if (pending_.empty()) unsaved_.reset();
    return;
  }
  journal_.Doubt();
  (void)FlushFailed(end.error(), now);
}

base::Error Ledger::FlushFailed(base::Error why, Time now) {
  due_ = now + kWriteBehind;
  unsaved_ = why;
  return why;
}

void Ledger::NothingPending() {
  pending_.clear();
  due_.reset();
  unsaved_.reset();
}

base::Result<void> Ledger::Fold() {
  TRY_VOID(journal_.Fold({state_, sequence_}));
  fold_next_ = files_.fold_at;
  NothingPending();
  return {};
}

// All is in the journal already: a failure costs nothing but its length.
void Ledger::FoldIfLong() {
  if (journal_.length() < fold_next_) return;
  if (!Fold().ok()) fold_next_ = journal_.length() + files_.fold_at;
}

void Ledger::ApplyAll(const std::vector<Change>& changes) {
  for (const Change& change : changes) Apply(state_, change);
}

std::optional<Time> Ledger::FlushDue() const { return due_; }

base::Result<Receipt> Ledger::Reserve(const Reservation& wanted, Time now) {
  return Commit(decide::Reserve(state_, wanted, now), now);
}
base::Result<Receipt> Ledger::Bind(const Device& device, const Owner& owner, Time now) {
  return Commit(decide::Bind(state_, device, owner, now), now);
}
base::Result<Receipt> Ledger::Release(const Device& device, const Owner& owner, Time now) {
  return Commit(decide::Release(state_, device, owner), now);
}
base::Result<Receipt> Ledger::StartClaim(const ClaimRequest& request, Time now) {
  return Commit(decide::StartClaim(state_, request, now), now);
}
base::Result<Receipt> Ledger::CompleteClaim(const std::string& uid,
                                            std::uint64_t attempt,
                                            const std::vector<Use>& uses,
                                            Time now) {
  return Commit(decide::CompleteClaim(state_, uid, attempt, uses, now), now);
}
base::Result<Receipt> Ledger::StartRelease(const std::string& uid, Time now) {
  return Commit(decide::StartRelease(state_, uid, now), now);
}
base::Result<Receipt> Ledger::FinishRelease(const std::string& uid, Time now) {
  return Commit(decide::FinishRelease(state_, uid, now), now);
}
base::Result<Receipt> Ledger::Withdraw(const std::string& plan,
                                       const std::vector<Device>& scope,
                                       Time now) {
  return Commit(decide::Withdraw(state_, plan, scope, now), now);
}
base::Result<Receipt> Ledger::Lock(const std::string& plan, Time now) {
  return Commit(decide::Lock(state_, plan), now);
}
base::Result<Receipt> Ledger::EndPlan(const std::string& plan, Time now) {
  return Commit(decide::EndPlan(state_, plan), now);
}
base::Result<Receipt> Ledger::ChangeOffer(const Board& board, Via via, Time now) {
  return Commit(decide::ChangeOffer(state_, board, via, now), now);
}
base::Result<Receipt> Ledger::PublishOffers(Time now) {
  return Commit(decide::PublishOffers(state_), now);
}
base::Result<Receipt> Ledger::Observe(const model::Inventory& inventory,
                                      const Asked& asked,
                                      Time now) {
  return Commit(decide::Observe(state_, inventory, asked), now);
}
base::Result<Receipt> Ledger::Sweep(Time now) { return Commit(decide::Sweep(state_, now), now); }

}  // namespace partita::service::ledger
