// Devices made into shares: `sharing` of the configuration.
#pragma once

#include <string>
#include <vector>

#include "config/plugin_config.h"
#include "service/device_plugin/candidates.h"

namespace partita::service::device_plugin {

// kubelet takes at most 4 MiB in one list, of some 80 bytes a device.
inline constexpr std::size_t kMostDevices = 50'000;

// What is offered, each device in its place: whole, or as its shares. An entry for a resource that
// the node does not have means nothing here. A device that is asked for and is not there is a
// problem of that device alone: if the whole entry were dropped, one lost GPU would change how the
// others are shared, under the pods that run on them. A device belongs to the first entry that
// asks for it, those of MPS before those of time-slicing. A device that MPS cannot share as it is
// told to is not offered: whoever asked for a limit must not get a GPU without one.
struct Sharing {
  std::vector<Candidate> devices;  // resource and device as kubelet sees them
  std::vector<mps::Domain> domains;
  bool domains_complete = true;
  std::vector<std::string> problems;
};
[[nodiscard]] Sharing ShareDevices(const std::vector<Candidate>& candidates,
                                   const config::PluginConfig& config,
                                   const model::Inventory& inventory);

}  // namespace partita::service::device_plugin
