#include "service/device_plugin/stock.h"

#include <map>

namespace partita::service::device_plugin {

Stock::Stock(const OfferedResource& resource) : resource_(&resource) {
  const std::vector<OfferedDevice>& devices = resource.devices;
  std::map<model::PciAddress, std::size_t> gpus;
  std::map<std::string_view, std::size_t> wholes;
  std::map<std::string_view, std::size_t> domains;
  places_.reserve(devices.size());
  spots_.resize(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    places_.try_emplace(devices[i].id, static_cast<std::uint32_t>(i));
    spots_[i].gpu = gpus.try_emplace(devices[i].gpu, gpus.size()).first->second;
    spots_[i].device = wholes.try_emplace(devices[i].whole_id, wholes.size()).first->second;
    if (devices[i].mps)
      spots_[i].group =
          domains.try_emplace(devices[i].mps->domain, domains.size() + 1).first->second;
    if (devices[i].alone) spots_[i].group = kAlone;
    has_mig_ = has_mig_ || devices[i].mig;
    has_groups_ = has_groups_ || spots_[i].group != spots_[0].group;
  }
}

std::optional<std::size_t> Stock::Find(std::string_view id) const {
  const auto found = places_.find(id);
  return found == places_.end() ? std::nullopt : std::optional<std::size_t>(found->second);
}

}  // namespace partita::service::device_plugin
