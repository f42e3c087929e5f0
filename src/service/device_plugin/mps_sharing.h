// Devices shared by MPS: the domains that they need, and what one share of each may take.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/plugin_config.h"
#include "model/inventory.h"
#include "service/device_plugin/offered.h"
#include "service/mps/domain.h"
#include "service/mps/reconcile.h"

namespace partita::service::device_plugin {

// What MPS has to know of each device that may be shared, by UUID. One whose memory or compute
// capability is not known has none of it.
[[nodiscard]] std::map<std::string, mps::Member> MembersOf(const model::Inventory& inventory);

// Who holds what, as far as domains of MPS have to know. A share that pods were seen with and
// nobody remembers counts as one of MPS: its daemon may be theirs.
[[nodiscard]] mps::Holders HoldersForMps(const ledger::State& ledger);

class MpsSharing {
 public:
  // Both outlive it.
  MpsSharing(const model::Inventory& inventory, const config::PluginConfig& config);

  void Add(const std::string& uuid, const config::SharedResource& entry);
  // After all were added.
  void Decide(std::vector<std::string>& problems);
  [[nodiscard]] const std::vector<mps::Domain>& domains() const { return domains_; }
  // False: of some device nobody can say now what its domain would be.
  [[nodiscard]] bool complete() const { return complete_; }
  // Of a size, or of none for equal ones. Nothing: it cannot be shared so.
  [[nodiscard]] std::optional<MpsShare> ShareOf(const std::string& uuid,
                                                const std::string& size) const;

 private:
  const config::PluginConfig& config_;
  bool complete_ = true;
  std::map<std::string, mps::Member> members_;
  std::map<std::string, mps::SharedDevices> shared_;  // by resource, without sizes
  std::vector<mps::Domain> domains_;
  std::map<std::pair<std::string, std::string>, MpsShare> shares_;  // by UUID and size
};

}  // namespace partita::service::device_plugin
