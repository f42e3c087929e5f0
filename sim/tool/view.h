// A node's view of the machine: a mount namespace in which an unmodified program finds the
// simulated driver where it looks for the real one.
#pragma once

#include <string>

#include "base/result.h"

namespace partita::sim::tool {

// Where a node's root appears inside its view.
inline const std::string kViewRoot = "/run/partita-sim";

// Moves this process into a new mount namespace and builds the view of the node at `root` there.
// Needs CAP_SYS_ADMIN. After an error the process is in neither world and should end.
//
// The host's own /sys, /dev/pts, /dev/shm and /proc stay visible; simulated PCI devices and modules
// are added to what is there, the driver's programs, libraries and firmware to the folders of this
// distribution. `proc_modules`: where the kernel has no /proc/modules, give /proc a
// tmpfs of links with one; processes born later are missing there, so it is for programs that are
// started, look and end.
[[nodiscard]] base::Result<void> EnterView(const std::string& root, bool proc_modules);

}  // namespace partita::sim::tool
