// MPS in the agent: the domains that the device plugin's shares need, on this machine's driver.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/mps/domains.h"
#include "agent/mps/runner_choice.h"
#include "base/log.h"
#include "base/value.h"
#include "hw/nvml/driver.h"
#include "model/inventory.h"
#include "model/mps_domain.h"
#include "net/loop.h"

namespace partita::agent::mps {

struct MpsOptions {
  RunnerKind runner = RunnerKind::kChild;
  std::string runner_socket;  // of kPod
  std::string driver_root = "/";
  std::string root = "/run/nvidia/mps";
  std::string modes_file;  // of ComputeModes
  std::string boot_id;
  service::mps::ComputeModePolicy policy = service::mps::ComputeModePolicy::kExclusive;
  std::string refused;  // why no daemon may be started; empty: they may
  bool operator==(const MpsOptions&) const = default;
};

// Loop's thread only. Loop and log outlive it. Where nothing is shared by MPS and no earlier agent
// left anything, it does nothing at all.
class MpsService {
 public:
  // An error: there is none to be had now, and it is asked for again.
  using MakeRunner = std::function<base::Result<std::shared_ptr<Runner>>(const MpsOptions&)>;

  // `changed`: Problems() or Kept() has another answer. `holders`: who has shares now.
  MpsService(net::Loop& loop,
             base::Log& log,
             MakeRunner make_runner,
             net::Task changed,
             std::function<service::mps::Holders()> holders);
  MpsService(const MpsService&) = delete;
  MpsService& operator=(const MpsService&) = delete;
  ~MpsService();

  void Start(MpsOptions options, std::shared_ptr<hw::nvml::Driver> driver);
  // Roots are the same from Start to Stop. Another runner adopts what the one before started.
  void SetOptions(MpsOptions options);
  // With the driver, as a Snapshot has it: another one may have forgotten the GPUs' modes.
  void SetSession(std::uint64_t session);
  // Who computes on the devices of domains.
  void SetInventory(std::shared_ptr<const model::Inventory> inventory);
  // As Domains::HaveMigDevices, by UUID.
  void HaveMigDevices(const std::optional<std::set<std::string>>& uuids);
  // What failed may work now.
  void TryAgain();
  // Every daemon stays, with its clients: the next agent adopts it.
  void Stop();
  [[nodiscard]] bool running() const { return running_; }

  // `complete`: there are no others. Else a GPU has not answered, and what is there of it stays.
  void Want(std::vector<service::mps::Domain> wanted, bool complete);

  // Of each domain that was wanted last: why it does not serve; empty: it does.
  [[nodiscard]] std::map<std::string, std::string> Problems() const;
  // Of each device in a domain that stays only for those who hold shares of it: why nothing else of
  // it can be had, by UUID.
  [[nodiscard]] std::map<std::string, std::string> Kept() const;
  // Those that are wanted or kept, by name; and GPUs that still have the mode of one that has
  // ended, each as a domain of its name.
  [[nodiscard]] std::vector<model::MpsDomain> Report() const;
  // Of "agent.state".
  [[nodiscard]] base::Value State() const;

 private:
  void Bring();
  void Make();
  void AddModeProblems(std::map<std::string, model::MpsDomain>& all) const;
  [[nodiscard]] std::map<std::string, std::string> Strangers() const;
  [[nodiscard]] std::string WhyNot(const std::string& name) const;
  [[nodiscard]] bool LeftSomething() const;

  net::Loop& loop_;
  base::Log& log_;
  MakeRunner make_runner_;
  net::Task changed_;
  std::function<service::mps::Holders()> holders_;
  bool running_ = false;
  MpsOptions options_;
  std::shared_ptr<hw::nvml::Driver> driver_;
  std::vector<service::mps::Domain> wanted_;
  bool complete_ = true;
  std::optional<std::set<std::string>> mig_;
  std::uint64_t session_ = 0;  // the last there was; 0: none yet
  std::shared_ptr<const model::Inventory> inventory_;
  std::map<std::string, std::string> strangers_;  // that were told, by domain
  std::string problem_;                           // why none can be started
  std::unique_ptr<net::Timer> again_;
  std::unique_ptr<Domains> domains_;
};

}  // namespace partita::agent::mps
