// Health (service/health) in the agent: told by the driver's events and by looks, published when it
// changes, remembered over restarts in health.json.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/control/server.h"
#include "agent/node.h"
#include "base/log.h"
#include "base/result.h"
#include "base/value.h"
#include "hw/nvml/gpu_look.h"
#include "model/health.h"
#include "model/mps_domain.h"
#include "net/loop.h"
#include "service/health/changes.h"
#include "service/health/spared.h"

namespace partita::agent {

struct HealthOptions {
  std::string root = "/";       // above the host's /sys
  std::string state_directory;  // health.json
  service::health::XidOptions xids;
};

// Loop's thread only. Loop, log and node outlive it.
class HealthKeeper {
 public:
  // Hears the node from now on: what is told before Start is judged then.
  HealthKeeper(net::Loop& loop, base::Log& log, Node& node);
  HealthKeeper(const HealthKeeper&) = delete;
  HealthKeeper& operator=(const HealthKeeper&) = delete;
  ~HealthKeeper();

  // After the node's. Never fails: what cannot be read is told.
  void Start(HealthOptions options);
  // Before the node's. Writes what is not on disk yet, and waits for it.
  void Stop();
  // Other rules, for what comes and what is.
  void SetXids(service::health::XidOptions xids);

  // `health` and `health.clear`.
  void Register(control::Server& server);

  using NodeHealthPtr = std::shared_ptr<const model::NodeHealth>;
  // Never null.
  [[nodiscard]] const NodeHealthPtr& current() const { return current_; }
  // Called on the loop when it becomes another, until what is returned goes, which it must do
  // before this object.
  using Subscriber = std::function<void(const NodeHealthPtr&)>;
  [[nodiscard]] std::shared_ptr<void> Subscribe(Subscriber subscriber);

  // What domains of MPS there are, for the document.
  void DomainsFrom(std::function<std::vector<model::MpsDomain>()> domains) {
    domains_ = std::move(domains);
  }
  // partita.dev/health/v1.
  [[nodiscard]] base::Value Document() const;
  // Each change of a part from the start on, but for those that an operator makes, which the next
  // is for. What was known before a restart is no change.
  void OnChange(std::function<void(const service::health::Transition&)> told) {
    changed_ = std::move(told);
  }
  // Told, for people, when an operator had faults forgotten.
  void OnCleared(std::function<void(const std::string& what)> told) { cleared_ = std::move(told); }
  // How many faults were forgotten.
  [[nodiscard]] base::Result<std::uint64_t> Clear(const std::string& what);

 private:
  void Recall();
  void Heard(const hw::nvml::Event& event);
  void SetMonitoring(const std::vector<model::PciAddress>& unmonitored);
  // Of the snapshot as it is, whether or not somebody looked.
  void Looked();
  void Look(hw::nvml::Parts more = {});
  void Apply(service::health::Health next);
  void Tell(const service::health::Transition& transition);
  void Publish(model::NodeHealth next);
  void Write();
  void EndWrite();
  [[nodiscard]] service::health::NodeFacts Facts() const;
  [[nodiscard]] service::health::DriverLife Driver() const;
  [[nodiscard]] service::health::Sign SignOf(const model::PciAddress& pci) const;
  // No call is made for those that might not come back from it, but for a probe at its time.
  void LeaveSparedAlone();
  // Whether there is one that the next look is to ask.
  bool ProbeSpared();
  [[nodiscard]] const model::Gpu* GpuAt(const model::PciAddress& pci) const;

  std::function<std::vector<model::MpsDomain>()> domains_;
  std::function<void(const service::health::Transition&)> changed_;
  std::function<void(const std::string& what)> cleared_;
  bool clearing_ = false;
  net::Loop& loop_;
  base::Log& log_;
  Node& node_;
  HealthOptions options_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool started_ = false;
  std::vector<hw::nvml::Event> early_;  // heard before the start
  std::vector<model::PciAddress> deaf_;
  std::shared_ptr<void> subscription_;
  std::unique_ptr<net::Timer> look_timer_;
  base::Clock::Steady look_due_{};

  service::health::Health health_;
  std::set<model::GpuUuid> spared_;
  service::health::Probes probes_;
  NodeHealthPtr current_ = std::make_shared<const model::NodeHealth>();
  std::vector<std::shared_ptr<Subscriber>> subscribers_;

  std::string boot_;
  std::string written_;  // what is on disk
  bool not_written_ = false;
  std::thread write_;
  struct Writing {
    std::string payload;
    base::Result<void> end;
  };
  std::shared_ptr<Writing> writing_;  // null: that thread has nothing to do
};

}  // namespace partita::agent
