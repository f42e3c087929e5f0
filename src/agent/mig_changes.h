// Changes of MIG in the agent: one at a time, each from the lock to what the next boot shall know,
// on a thread of its own beside the loop. Commands order them over the control socket.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/control/server.h"
#include "base/log.h"
#include "base/result.h"
#include "base/value.h"
#include "hw/inventory_reader.h"
#include "hw/nvml/driver.h"
#include "model/inventory.h"
#include "model/mig/plan.h"
#include "net/loop.h"
#include "service/mig/boot.h"
#include "service/mig/procedure.h"
#include "service/mig/remote_order.h"

namespace partita::agent {

// Loop's thread only. Loop and log outlive it.
class MigChanges {
 public:
  struct Options {
    hw::ReaderOptions reader;
    std::shared_ptr<hw::nvml::Driver> driver;
    // Looks at the node and calls back: whoever asks after a change sees it.
    std::function<void(net::Task done)> look;
    // The ledger's say, asked on the loop's thread; each may be empty. The gate is asked for each
    // step of a change that does something, and answers when it can. `ended` is called once after
    // a change whose gate was opened, when the node was looked at.
    std::function<model::PinnedParts(const model::Inventory& node)> pinned = nullptr;
    using GateAnswer = std::function<void(base::Result<void> opened)>;
    std::function<void(const model::Inventory& node,
                       const std::vector<service::mig::GpuSteps>& steps,
                       GateAnswer answer)>
        gate = nullptr;
    net::Task ended = nullptr;
  };

  MigChanges(net::Loop& loop, base::Log& log);
  MigChanges(const MigChanges&) = delete;
  MigChanges& operator=(const MigChanges&) = delete;
  // Waits for the change that runs: a GPU is never left half-way for a stop.
  ~MigChanges();

  // mig.look, mig.change, mig.boot, mig.stop.
  void Register(control::Server& server);
  void Start(Options options);
  // Ends the one that runs, which puts back what it changed, and refuses the others. `stopped` is
  // called once, when its end was told.
  void Stop(net::Task stopped);

  // The agent's own: what was applied last, as at boot.
  void BringBack(service::mig::BootChoice choice,
                 std::function<void(const service::mig::BootEnd& end)> done);

  // "pid 4711 (partita mig apply)", of the change that runs; empty: none does.
  [[nodiscard]] std::string running() const;

 private:
  struct Job;
  struct Asked;
  using JobPtr = std::shared_ptr<Job>;

  void Look(const std::shared_ptr<control::Call>& call);
  void Change(const std::shared_ptr<control::Call>& call);
  void Boot(const std::shared_ptr<control::Call>& call);
  void StopOne(control::Call& call);
  [[nodiscard]] std::function<base::Result<base::Value>()> BootRun(const JobPtr& job,
                                                                   service::mig::BootChoice choice);
  // `wait`: behind a change that runs; else that is the answer.
  void Take(const JobPtr& job, bool wait);
  void Run(const JobPtr& job);
  void Ended(const JobPtr& job, base::Result<base::Value> answer);
  void Answered(const JobPtr& job, base::Result<base::Value> answer);
  [[nodiscard]] JobPtr AheadOf() const;
  void Refuse(Job& job, const base::Error& error);
  [[nodiscard]] service::mig::TellNews TellerOf(const JobPtr& job);
  [[nodiscard]] service::mig::ChangeGuards Guards(const JobPtr& job);
  template <typename T>
  using Question = std::function<void(std::function<void(T)> answer)>;
  template <typename T>
  std::optional<T> AskLoop(Question<T> question);

  net::Loop& loop_;
  base::Log& log_;
  Options options_;
  JobPtr running_;
  std::deque<JobPtr> waiting_;
  std::thread thread_;
  bool started_ = false;
  net::Task stopped_;  // set: we are stopping
  std::shared_ptr<Asked> asked_;
};

}  // namespace partita::agent
