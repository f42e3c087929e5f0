// Files for programs that draw: EGL, Vulkan, X.
#pragma once

#include "service/cdi/driver_files.h"

namespace partita::service::cdi {

// Adds to `files.graphics` and `files.graphics_links`; `files` has version and directories. What is
// missing is simply not there: few machines have all of it.
void AddGraphicsFiles(const DriverRoot& driver, const Search& search, DriverFiles& files);

}  // namespace partita::service::cdi
