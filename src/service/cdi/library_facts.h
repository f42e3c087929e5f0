// What a library of the driver is for, and which links a container needs to find it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/node_devices.h"
#include "service/cdi/driver_files.h"

namespace partita::service::cdi {

// By the name of a library or program; empty: of no capability.
[[nodiscard]] std::vector<partita::cdi::Capability> CapabilitiesOf(std::string_view name);

// The SONAME of a library inside the root; its file name when it has none. kInvalid where it is
// damaged or has several.
[[nodiscard]] base::Result<std::string> ReadSoname(const DriverRoot& driver,
                                                   const std::string& path);

// Links for a library at `path` whose SONAME is this one (empty: not known): those that programs
// expect whether or not the host has them, and those that the host has.
[[nodiscard]] std::vector<Link> LinksFor(const DriverRoot& driver,
                                         const std::string& path,
                                         const std::string& soname);

}  // namespace partita::service::cdi
