// The ledger (service/ledger) in the agent: opened at the start, compared with the machine after
// the first look and every later one, written behind without making the loop wait for a disk.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
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
#include "model/mig/plan.h"
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
  [[nodiscard]] model::PinnedParts Pinned(const model::Inventory& inventory) const;

  // Before the first driver call of a change: takes all that the steps work on, on disk, and gives
  // the plan's id. kBusy names who holds some of it, and then nothing was taken; kUnavailable:
  // there is no ledger to ask. Instances of somebody else that the steps name are ours from here
  // on: whoever ordered the change was shown them.
  [[nodiscard]] base::Result<std::string> BeginPlan(
      const model::Inventory& node, const std::vector<service::mig::GpuSteps>& steps);
  // The same, but where kubelet is offered GPUs it is given a moment to hear that they are
  // withdrawn: a pod that it gives one to before it has heard gets it, and the plan is refused.
  using Begun = std::function<void(base::Result<std::string> id)>;
  void BeginPlan(const model::Inventory& node,
                 const std::vector<service::mig::GpuSteps>& steps,
                 const Begun& begun);
  void OfferedBy(std::function<bool()> offers) { offers_ = std::move(offers); }
  // A ledger that knows of no pod, or was damaged, may have been begun under pods that hold
  // devices: while `owed` says so, no plan begins before kubelet was heard.
  void HoldersOwed(std::function<bool()> owed) { owed_ = std::move(owed); }
  // False: such a ledger, and kubelet has not been heard, or there is none to ask.
  [[nodiscard]] bool knows_holders() const {
    return settled_ && (knows_pods_ || !owed_ || !owed_());
  }
  // The two halves: after the first nobody new is offered any of it, but a pod that kubelet has
  // chosen already still gets it, and the second then fails (kBusy).
  [[nodiscard]] base::Result<std::string> WithdrawPlan(
      const model::Inventory& node, const std::vector<service::mig::GpuSteps>& steps);
  [[nodiscard]] base::Result<void> LockPlan(const std::string& id, const model::Inventory& node);
  // The change is over, whatever became of it. To be called after a look that began after its last
  // driver call: what is there then is of our making.
  void EndPlan(const std::string& id);

  // All that is known; null until the machine was compared with it.
  [[nodiscard]] const service::ledger::State* state() const {
    return settled_ ? &ledger_->state() : nullptr;
  }
  // Called when an operation takes devices, or gives them back. One listener.
  void OnPlans(net::Task task) { plans_changed_ = std::move(task); }

  // What kubelet gives a pod of a resource. kBusy or kConflict: somebody has it who does not come
  // by kubelet, and is named. Without a ledger it goes on: kubelet knows what it gave.
  [[nodiscard]] base::Result<void> Reserve(const std::string& resource,
                                           const std::vector<service::ledger::Device>& devices);
  // What kubelet says of its pods: each is told if it cannot be.
  void Bind(const service::ledger::Device& device, const service::ledger::Owner& owner);
  void Release(const service::ledger::Device& device, const service::ledger::Owner& owner);

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
  // After each step of a plan that is not over.
  void PlanMoved(const std::string& id, bool good, const model::Inventory& node);
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
  net::Task changed_, plans_changed_;
  std::function<bool()> offers_, owed_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::string directory_;
  std::optional<Ledger> ledger_;
  bool settled_ = false, knows_pods_ = false;
  std::string not_open_, not_written_;  // empty: not so

  std::optional<service::mig::Checkpoint> layout_;
  std::string layout_stamp_ = "never read";
  service::inventory::SnapshotPtr seen_;
  std::map<std::string, std::size_t> withdrawn_;  // plans that are not locked: of how many devices
  std::set<std::string> to_end_;                  // plans whose end could not be written down
  std::set<std::string> told_foreign_;
  // Of plans that ended while nobody could read the GPU: what is there once it answers is of their
  // making.
  std::vector<Device> unseen_;

  std::unique_ptr<net::Timer> flush_timer_;
  std::unique_ptr<net::Timer> hears_;  // kubelet, what was withdrawn
  std::thread sync_;
  std::shared_ptr<base::Result<void>> syncing_;  // null: that thread has nothing to do
};

}  // namespace partita::agent
