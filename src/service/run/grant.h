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

// By the names that request/device_id.h reads, or "all" or "none" alone. kInvalid: no such device,
// or a GPU that is divided into MIG devices; kUnavailable: one that is not offered now.
[[nodiscard]] base::Result<Grant> GrantOf(std::span<const std::string> ids,
                                          const partita::cdi::NodeDevices& node);

}  // namespace partita::service::run
