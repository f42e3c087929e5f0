// The one writer of the ledger: decides, writes, then applies. For one thread; no clock of its own.
// Services look at state() and never change it.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/ledger/claims.h"
#include "service/ledger/holds.h"
#include "service/ledger/journal.h"
#include "service/ledger/offers.h"
#include "service/ledger/plans.h"
#include "service/ledger/sightings.h"
#include "service/ledger/verify.h"

namespace partita::service::ledger {

// What pods hold outlives this program from the moment that they are given it, and the machine at
// most so long after.
inline constexpr std::chrono::milliseconds kWriteBehind{100};

struct LedgerFiles {
  std::string directory;                       // base::StateDirectory()
  std::size_t fold_at = std::size_t{1} << 20;  // bytes of journal
};

class Ledger {
 public:
  struct Opened;

  // Reads the files; writes only to cut off what was not finished. Until Settle every verb fails
  // (kUnavailable), since nobody knows yet whether what was read is still so.
  [[nodiscard]] static base::Result<Opened> Open(LedgerFiles files);

  [[nodiscard]] const State& state() const { return state_; }

  // Compares with the machine (verify.h) and begins. The findings are the caller's to act on.
  std::vector<Finding> Settle(const model::Inventory& inventory,
                              const std::string& boot,
                              const Asked& asked,
                              Time now);

  // The verbs: what each does and when it is refused is said with the function of its name. Those
  // of claims, plans and offers are on disk when they return; if they cannot be (kIo) nothing has
  // changed. The others are written, and synced behind; receipt.warning says if that fails at
  // present.
  base::Result<Receipt> Reserve(const Reservation& wanted, Time now);
  base::Result<Receipt> Bind(const Device& device, const Owner& owner, Time now);
  base::Result<Receipt> Release(const Device& device, const Owner& owner, Time now);
  base::Result<Receipt> StartClaim(const ClaimRequest& request, Time now);
  base::Result<Receipt> CompleteClaim(const std::string& uid,
                                      std::uint64_t attempt,
                                      const std::vector<Use>& uses,
                                      Time now);
  base::Result<Receipt> StartRelease(const std::string& uid, Time now);
  base::Result<Receipt> FinishRelease(const std::string& uid, Time now);
  base::Result<Receipt> Withdraw(const std::string& plan,
                                 const std::vector<Device>& scope,
                                 Time now);
  base::Result<Receipt> Lock(const std::string& plan, Time now);
  base::Result<Receipt> EndPlan(const std::string& plan, Time now);
  base::Result<Receipt> ChangeOffer(const Board& board, Via via, Time now);
  base::Result<Receipt> PublishOffers(Time now);
  base::Result<Receipt> Observe(const model::Inventory& inventory, const Asked& asked, Time now);
  base::Result<Receipt> Sweep(Time now);

  // When Flush must be called; nothing: all is on disk.
  [[nodiscard]] std::optional<Time> FlushDue() const;
  // Writes what is not on disk yet. Failed, it is due again a moment later.
  base::Result<void> Flush(Time now);
  // The same in two halves, for a thread that must not wait for a disk: this one writes, and what
  // it gives (empty: nothing is left to do) waits, on another thread; EndFlush takes how it ended.
  base::Result<Journal::Sync> BeginFlush(Time now);
  void EndFlush(const base::Result<void>& end, Time now);

 private:
  Ledger(LedgerFiles files, Journal::Opened opened);

  base::Result<Receipt> Commit(base::Result<Decision> decision, Time now);
  base::Result<void> WriteNow(const std::string& record);
  void WriteBehind(const std::string& record, Time now);
  void NothingPending();
  [[nodiscard]] bool MustFold() const;
  base::Error FlushFailed(base::Error why, Time now);
  base::Result<void> Fold();
  void FoldIfLong();
  void ApplyAll(const std::vector<Change>& changes);

  LedgerFiles files_;
  Journal journal_;
  State state_;
  std::uint64_t sequence_ = 0;  // of the last record, written or not
  bool settled_ = false;
  std::string pending_;                 // records that could not be written yet
  std::optional<Time> due_;             // set while any are not synced
  std::optional<base::Error> unsaved_;  // why the last attempt to write them failed
  std::size_t fold_next_ = 0;           // length of the journal at which it is folded
};

struct Ledger::Opened {
  Ledger ledger;
  std::vector<std::string> warnings;  // what was damaged, cut off or is missing
};

}  // namespace partita::service::ledger
