#pragma once

#include "base/command_line.h"
#include "base/result.h"
#include "sim/state/layout.h"

namespace partita::sim::tool {

// What `workload start` asks for, checked as a driver would check a process that opens the GPU: the
// GPU or slice is there, lets processes in and has the memory. No pid and no name yet.
[[nodiscard]] base::Result<Holder> ReadWorkload(const base::Invocation& invocation,
                                                const Machine& machine,
                                                const Slot& slot);

}  // namespace partita::sim::tool
