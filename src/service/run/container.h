// A runc container on a directory that stays as it is.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cdi/node_devices.h"
#include "service/cdi/edits.h"
#include "service/run/grant.h"
#include "service/run/image.h"

namespace partita::service::run {

// The program in PATH, else where system administrators' programs are. kNotFound.
[[nodiscard]] base::Result<std::string> FindRunc();

// In a mount namespace of this process's own: what is written in the container goes to memory, and
// with it. Returns the command that runs it, to be executed. Whatever is left when that has ended
// is removed then. As root only (kDenied).
[[nodiscard]] base::Result<std::vector<std::string>> PrepareContainer(
    const std::string& runc,
    const Image& image,
    const std::vector<std::string>& command,
    const Grant& grant,
    const partita::cdi::NodeDevices& node,
    const cdi::HookSet& hooks);

}  // namespace partita::service::run
