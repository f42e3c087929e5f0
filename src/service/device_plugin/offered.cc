#include "service/device_plugin/offered.h"

#include <iterator>
#include <map>
#include <utility>

#include "service/device_plugin/candidates.h"
#include "service/device_plugin/sharing.h"

namespace partita::service::device_plugin {

Offered Offer(const model::Inventory& inventory,
              const config::PluginConfig& config,
              const std::vector<config::OfferRule>& rules,
              bool offered_by_default,
              const model::NodeHealth& health,
              const ledger::State& ledger) {
  Candidates candidates =
      FindCandidates(inventory, config, rules, offered_by_default, health, ledger);
  if (config.mig_strategy == config::MigStrategy::kSingle) KeepOneKind(candidates);
  Offered offered;
  offered.problems = std::move(candidates.problems);
  std::vector<Candidate> devices = std::move(candidates.devices);
  if (config.time_slicing || config.mps) {
    Sharing sharing = ShareDevices(devices, config, inventory);
    devices = std::move(sharing.devices);
    offered.domains = std::move(sharing.domains);
    offered.domains_complete = sharing.domains_complete;
    std::move(sharing.problems.begin(), sharing.problems.end(),
              std::back_inserter(offered.problems));
  }
  std::map<std::string, OfferedResource> resources;
  for (Candidate& each : devices) {
    OfferedResource& resource = resources[each.resource];
    resource.name = each.resource;
    if (std::holds_alternative<ledger::Share>(each.device.device)) {
      resource.shared = true;
      const auto& section = each.device.mps ? config.mps : config.time_slicing;
      each.device.alone = section->fail_requests_greater_than_one;
    }
    resource.devices.push_back(std::move(each.device));
  }
  for (auto& [name, resource] : resources) offered.resources.push_back(std::move(resource));
  return offered;
}

}  // namespace partita::service::device_plugin
