// What answers for the GPUs of a node while no driver is loaded: a process that sees the files
// resource0 and reset being opened and written, and does what the hardware would.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "sim/tool/nodes.h"

namespace partita::sim::tool {

// Makes the register files and starts the process; it goes when the driver comes, when the node
// goes, and by EndPciServer. Where the kernel has no fanotify for us there is an error, and no
// register files.
[[nodiscard]] base::Result<void> StartPciServer(Node& node);

// Ends it, if there is one.
[[nodiscard]] base::Result<void> EndPciServer(const std::string& root);

// Where no driver is loaded: the process ends, what programs have asked of the registers is what a
// driver will find, and the register files go.
[[nodiscard]] base::Result<void> HandOverRegisters(const Node& node, Slot& slot);

// 0: none.
[[nodiscard]] pid_t PciServer(const std::string& root);

}  // namespace partita::sim::tool
