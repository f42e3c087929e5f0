// Keeps the files of CDI as the node is: written anew when GPUs, MIG devices, the driver or device
// nodes change.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "agent/cdi_files.h"
#include "base/log.h"
#include "base/value.h"
#include "net/loop.h"
#include "service/inventory/live.h"
#include "service/inventory/snapshot.h"

namespace partita::agent {

// Loop's thread only; the work is done on the thread `cdi`, one at a time, and the newest snapshot
// wins. Loop and log outlive it.
class CdiPublisher {
 public:
  // For tests: what is done, and on which thread.
  using Work = std::function<CdiOutcome(const CdiOptions&, const model::Inventory&)>;
  using Spawn = std::function<void(net::Task job)>;
  using Look = std::function<std::string(const CdiOptions&)>;

  // `changed` is called when problem() becomes another.
  CdiPublisher(net::Loop& loop, base::Log& log, net::Task changed = nullptr);
  CdiPublisher(
      net::Loop& loop, base::Log& log, net::Task changed, Work work, Spawn spawn, Look look);
  CdiPublisher(const CdiPublisher&) = delete;
  CdiPublisher& operator=(const CdiPublisher&) = delete;
  ~CdiPublisher();

  // `first` is called once, after the first attempt: then the files are there, or problem() says
  // why they are not.
  void Start(CdiOptions options, service::inventory::Live& live, net::Task first);
  // The same without a subscription: somebody else calls Published.
  void Start(CdiOptions options, service::inventory::SnapshotPtr now, net::Task first);
  // The files stay. `stopped` is called when no thread is at them any more: one that hangs in a
  // file system is not waited for here.
  void Stop(net::Task stopped);
  [[nodiscard]] bool running() const { return running_; }

  void Published(const service::inventory::SnapshotPtr& snapshot,
                 const service::inventory::Changes& changes);
  // After a look that found nothing new: what failed is tried again, and what somebody else removed
  // or changed is written again.
  void Looked();
  // Another configuration; written at once where it makes a difference.
  void SetOptions(CdiOptions options);

  // Why the files are not of the node as it is; empty: they are.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // The files are of the newest snapshot, as far as they depend on it.
  [[nodiscard]] bool current() const;
  // What else there are files of for the device plugin: "gds".
  [[nodiscard]] std::vector<std::string> plugin_classes() const {
    return last_ ? last_->plugin_classes : std::vector<std::string>();
  }
  // Called when current() may have become another. One listener.
  void OnProgress(net::Task task) { progress_ = std::move(task); }
  // Of "agent.state".
  [[nodiscard]] base::Value State() const;

 private:
  void Wish();
  void Begin();
  void Ended(const CdiOutcome& outcome);
  void Tell(const CdiOutcome& outcome);
  void RunOnThread(net::Task job);

  net::Loop& loop_;
  base::Log& log_;
  net::Task changed_, progress_;
  Work work_;
  Spawn spawn_;
  Look look_;
  CdiOptions options_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<net::Timer> settles_;
  std::shared_ptr<void> subscription_;
  service::inventory::SnapshotPtr snapshot_;
  bool started_ = false, running_ = false, wished_ = false;
  net::Task first_, stopped_;
  std::thread thread_;
  std::optional<CdiOutcome> last_;
  std::vector<std::string> told_;
  std::string problem_;
};

}  // namespace partita::agent
