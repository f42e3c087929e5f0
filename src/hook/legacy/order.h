// From what a container asks for to the devices of this machine.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/node_devices.h"
#include "hook/legacy/plan.h"
#include "request/request.h"

namespace partita::hook {

// Those that are asked for; "all" is every GPU and every MIG device. A name with vendor and class
// ("nvidia.com/gpu=0:1") is taken where they are NVIDIA's GPUs. kNotFound: `<id>: unknown device`.
[[nodiscard]] base::Result<std::vector<const cdi::DeviceRow*>> FindDevices(
    const request::Request& request, const cdi::NodeDevices& node);

[[nodiscard]] LegacyOrder OrderFor(const request::Request& request,
                                   const std::vector<const cdi::DeviceRow*>& devices,
                                   std::string_view proc_devices);

}  // namespace partita::hook
