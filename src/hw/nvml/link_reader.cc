#include "hw/nvml/link_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace partita::hw::nvml {
namespace {

std::optional<model::PathLevel> ToPath(std::uint32_t level) {
  using model::PathLevel;
  for (const PathLevel known : {PathLevel::kSameBoard, PathLevel::kOneSwitch, PathLevel::kSwitches,
                                PathLevel::kHostBridge, PathLevel::kNumaNode, PathLevel::kSystem}) {
    if (static_cast<std::uint32_t>(known) == level) return known;
  }
  return std::nullopt;
}

struct ActiveLinks {
  std::vector<unsigned> links;
  bool all = false;  // there are no others
};

// Links are numbered without gaps; the first that does not exist ends the count. An H200 says of it
// that it is not supported, as a board without links says of the first.
ActiveLinks FindActiveLinks(DeviceCalls& calls) {
  ActiveLinks active;
  for (unsigned link = 0; link < NVML_NVLINK_MAX_LINKS; ++link) {
    nvmlEnableState_t state = 0;
    const nvmlReturn_t code = calls.Raw(calls.api().nvlink_state, calls.device(), link, &state);
    if (code == NVML_ERROR_INVALID_ARGUMENT || (link > 0 && code == NVML_ERROR_NOT_SUPPORTED))
      break;
    if (!calls.Note(calls.api().nvlink_state.name(), code)) return active;
    if (state == NVML_FEATURE_ENABLED) active.links.push_back(link);
  }
  active.all = true;
  return active;
}

bool EndsInSwitch(DeviceCalls& calls, unsigned link) {
  nvmlIntNvLinkDeviceType_t type = NVML_NVLINK_DEVICE_TYPE_GPU;
  return calls.Raw(calls.api().nvlink_remote_type, calls.device(), link, &type) == NVML_SUCCESS &&
         type == NVML_NVLINK_DEVICE_TYPE_SWITCH;
}

std::optional<model::PciAddress> RemoteOf(DeviceCalls& calls, unsigned link) {
  nvmlPciInfo_t pci{};
  if (calls.Raw(calls.api().nvlink_remote_pci, calls.device(), link, &pci) != NVML_SUCCESS) {
    return std::nullopt;
  }
  return model::PciAddress{.domain = pci.domain,
                           .bus = static_cast<std::uint8_t>(pci.bus),
                           .device = static_cast<std::uint8_t>(pci.device),
                           .function = 0};
}

}  // namespace

LinksOfGpu ReadLinks(DeviceCalls& calls,
                     const model::PciAddress& gpu,
                     std::span<const Peer> peers) {
  LinksOfGpu links;
  links.gpu = gpu;
  for (const Peer& peer : peers) {
    if (peer.pci <= gpu) continue;
    const auto level = calls.Get<nvmlGpuTopologyLevel_t>(calls.api().common_ancestor, peer.device);
    const std::optional<model::PathLevel> path = level ? ToPath(*level) : std::nullopt;
    if (path) links.paths.emplace(peer.pci, *path);
  }
  const ActiveLinks active = FindActiveLinks(calls);
  // A board's links end in switches all or none, so one tells for all: 18 calls less on an HGX.
  if (!active.links.empty() && EndsInSwitch(calls, active.links.front())) {
    links.switched = static_cast<std::uint32_t>(active.links.size());
    return links;
  }
  links.partly = !active.all;
  for (const unsigned link : active.links) {
    const std::optional<model::PciAddress> remote = RemoteOf(calls, link);
    if (!remote) links.partly = true;
    const bool is_peer = std::any_of(peers.begin(), peers.end(),
                                     [&](const Peer& peer) { return remote == peer.pci; });
    if (is_peer) ++links.nvlinks[*remote];
  }
  if (links.partly) return links;
  for (const Peer& peer : peers)
    if (peer.pci != gpu) links.nvlinks.try_emplace(peer.pci, 0);
  return links;
}

NodeLinks Combine(std::span<const LinksOfGpu> all) {
  std::map<std::pair<model::PciAddress, model::PciAddress>, model::GpuLink> pairs;
  std::map<std::pair<model::PciAddress, model::PciAddress>, bool> partly;
  const auto pair_of = [&pairs](const model::PciAddress& one,
                                const model::PciAddress& other) -> model::GpuLink& {
    const auto [low, high] = std::minmax(one, other);
    model::GpuLink& link = pairs[{low, high}];
    link.a = low;
    link.b = high;
    return link;
  };
  NodeLinks node;
  for (const LinksOfGpu& links : all) {
    for (const auto& [peer, path] : links.paths) pair_of(links.gpu, peer).path = path;
    for (const auto& [peer, count] : links.nvlinks) {
      model::GpuLink& link = pair_of(links.gpu, peer);
      const auto [known, first] = partly.try_emplace({link.a, link.b}, links.partly);
      if (first || (known->second && !links.partly)) {
        link.nvlinks = count;
        known->second = links.partly;
      } else if (known->second == links.partly) {
        // A link that one end takes for down carries nothing.
        link.nvlinks = links.partly ? std::max(link.nvlinks, count) : std::min(link.nvlinks, count);
      }
    }
    if (links.switched > 0) {
      node.switch_links.push_back({.gpu = links.gpu, .active = links.switched});
    }
  }
  for (const auto& [key, link] : pairs)
    if (link.path || link.nvlinks > 0) node.links.push_back(link);
  return node;
}

}  // namespace partita::hw::nvml
