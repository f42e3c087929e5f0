// Which devices a process or container is given.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cdi/node_devices.h"

namespace partita::service::run {

struct Grant {
  std::vector<std::string> devices;  // names in the node's specification
  // Those that every user of the driver needs, and those of the devices; each path once.
  std::vector<partita::cdi::DeviceNode> nodes;
};

// The ids of lists with commas, each trimmed; empty items do not count, as in every request. "all"
// and "none" are in lower case then. kInvalid: no id at all; "all" or "none" beside another one,
// which says two things (a container's variable would mean the first word: there is nobody to
// ask); "void".
[[nodiscard]] base::Result<std::vector<std::string>> ReadIds(std::span<const std::string> lists);

// By the names that request/device_id.h reads, or "all" or "none" alone; one that is there twice
// counts once. kInvalid: no such device,
// or a GPU that is divided into MIG devices; kUnavailable: one that is not offered now.
[[nodiscard]] base::Result<Grant> GrantOf(std::span<const std::string> ids,
                                          const partita::cdi::NodeDevices& node);

}  // namespace partita::service::run
