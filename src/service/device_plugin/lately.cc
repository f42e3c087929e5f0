#include "service/device_plugin/lately.h"

#include <set>
#include <utility>

namespace partita::service::device_plugin {

bool KeepForAMoment(Lately& lately, const Offered& before, const Offered& next) {
  std::set<std::pair<std::string, std::string>> offered;
  std::set<model::PciAddress> by_mps;
  for (const OfferedResource& resource : next.resources) {
    for (const OfferedDevice& device : resource.devices) {
      offered.emplace(resource.name, device.id);
      if (device.mps) by_mps.insert(device.gpu);
    }
  }
  const auto stays = [&](const std::string& resource, const OfferedDevice& device) {
    return !offered.empty() && !offered.contains({resource, device.id}) && !device.mps &&
           !by_mps.contains(device.gpu);
  };
  for (auto& kept : lately) {
    std::erase_if(kept.second, [&](const auto& each) { return !stays(kept.first, each.second); });
  }
  bool any = false;
  for (const OfferedResource& resource : before.resources) {
    for (const OfferedDevice& device : resource.devices) {
      if (!stays(resource.name, device)) continue;
      lately[resource.name].insert_or_assign(device.id, device);
      any = true;
    }
  }
  return any;
}

}  // namespace partita::service::device_plugin
