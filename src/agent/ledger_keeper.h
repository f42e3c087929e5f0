// The ledger (service/ledger) in the agent: opened at the start, compared with the machine after
// the first look and every later one, written behind without making the loop wait for a disk.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/value.h"
#include "model/inventory.h"
#include "model/mig_plan.h"
#include "net/loop.h"
#include "service/inventory/snapshot.h"
#include "service/ledger/ledger.h"
#include "service/mig/checkpoint.h"
#include "service/mig/node_plan.h"

namespace partita::agent {

// Loop's thread only. Loop and log outlive it.
class LedgerKeeper {
 public:
  // `changed` is called when problem() or warning() becomes another.
  LedgerKeeper(net::Loop& loop, base::Log& log, net::Task changed = nullptr);
  LedgerKeeper(const LedgerKeeper&) = delete;
  LedgerKeeper& operator=(const LedgerKeeper&) = delete;
  ~LedgerKeeper();

  // Never fails: what was damaged is told, and a ledger that cannot be opened is a problem, tried
  // again with each look. Until Settle nobody is given anything.
  void Open(const std::string& state_directory);
  // After the first look: compares, tells what was found, ends what a crash interrupted.
  void Settle(const model::Inventory& inventory);
  // After each later look.
  void Observe(const service::inventory::SnapshotPtr& snapshot);
  // Writes what is not on disk yet, and waits for it. Looks that come later change nothing.
  [[nodiscard]] base::Result<void> Close();

  // Why there is none to ask; empty: there is one.
  [[nodiscard]] const std::string& problem() const { return not_open_; }
  // Why what was written behind is not on disk; empty: it is. All goes on meanwhile.
  [[nodiscard]] const std::string& warning() const { return not_written_; }

  // The GPU instances that somebody was given, whether or not anything runs in them.
  [[nodiscard]] model::PinnedInstances Pinned(const model::Inventory& inventory) const;

  // Before the first driver call of a change: takes all that the steps work on, on disk, and gives
  // the plan's id. kBusy names who holds some of it, and then nothing was taken; kUnavailable:
  // there is no ledger to ask. Instances of somebody else that the steps name are ours from here
  // on: whoever ordered the change was shown them.
  [[nodiscard]] base::Result<std::string> BeginPlan(
      const model::Inventory& node, const std::vector<service::mig::GpuSteps>& steps);
  // The change is over, whatever became of it. To be called after a look that began after its last
  // driver call: what is there then is of our making.
  void EndPlan(const std::string& id);

  // For `agent.state`: how many there are of each.
  [[nodiscard]] base::Value Counts() const;
  // For the method `ledger`: who holds what.
  [[nodiscard]] base::Value Document() const;

 private:
  using Ledger = service::ledger::Ledger;
  using Device = service::ledger::Device;

  [[nodiscard]] service::ledger::Time Now() const;
  [[nodiscard]] base::Error Closed() const;
  void TryOpen();
  // Of mig.json, read again when the file is another.
  bool ReadLayout();
  void Look(const model::Inventory& inventory, const std::vector<Device>& ours);
  void TellFindings(const std::vector<service::ledger::Finding>& findings);
  void TellForeign();
  // True unless it could not be written down.
  bool TryEndPlan(const std::string& id, const model::Inventory& inventory);
  // After each change: sees that it gets to disk.
  void Written();
  void Flush();
  void EndSync();
  void Synced(const base::Result<void>& end);
  void SetProblem(std::string& problem, const std::string& now);

  net::Loop& loop_;
  base::Log& log_;
  net::Task changed_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::string directory_;
  std::optional<Ledger> ledger_;
  bool settled_ = false;
  std::string not_open_, not_written_;  // empty: not so

  std::optional<service::mig::Checkpoint> layout_;
  std::string layout_stamp_ = "never read";
  service::inventory::SnapshotPtr seen_;
  std::set<std::string> to_end_;  // plans whose end could not be written down
  std::set<std::string> told_foreign_;
  // Of plans that ended while nobody could read the GPU: what is there once it answers is of their
  // making.
  std::vector<Device> unseen_;

  std::unique_ptr<net::Timer> flush_timer_;
  std::thread sync_;
  std::shared_ptr<base::Result<void>> syncing_;  // null: that thread has nothing to do
};

}  // namespace partita::agent
