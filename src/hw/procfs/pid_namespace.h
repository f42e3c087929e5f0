// Whether the kernel tells us of all processes.
#pragma once

namespace partita::hw::procfs {

// True in the machine's first PID namespace, where every process has a number. False in another
// one, and where that cannot be told.
[[nodiscard]] bool SeesAllProcesses();

}  // namespace partita::hw::procfs
