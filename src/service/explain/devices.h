// Devices of a report, for people.
#pragma once

#include <set>
#include <string>

#include "service/explain/explain.h"

namespace partita::service::explain {

[[nodiscard]] Mark MarkOf(const device_plugin::ReportedDevice& device,
                          const std::set<std::string>& given,
                          const std::set<std::string>& taken);

// With what the node's inventory says of it.
[[nodiscard]] GivenDevice Describe(const NodeView& node,
                                   const device_plugin::ReportedResource& resource,
                                   const device_plugin::ReportedDevice& device);

}  // namespace partita::service::explain
