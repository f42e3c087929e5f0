// This process, so that it and what it executes sees some devices only.
#pragma once

#include <string>

#include "base/result.h"
#include "service/run/grant.h"

namespace partita::service::run {

// A mount namespace of its own; /dev with the usual nodes and the granted ones; /proc/driver/nvidia
// of these; a cgroup in which no other can be opened, as root; no right to make nodes. Returns what
// could not be had, in words, or nothing. After an error this process is of no use any more.
//
// It is a view and no prison: root stays root, and could take all of this away again.
[[nodiscard]] base::Result<std::string> EnterView(const Grant& grant);

}  // namespace partita::service::run
