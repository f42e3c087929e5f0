// nvidia-container-runtime: edits the bundle of a container that is to be created, and becomes runc
// or crun in any case, with arguments, environment, descriptors, signals and working directory as
// they came.
#pragma once

#include <span>

namespace partita::hook {

// With argv[0]. The last part of its name may choose the mode: ".cdi", ".legacy". Returns only when
// something failed.
int RunRuntime(std::span<char*> arguments);

}  // namespace partita::hook
