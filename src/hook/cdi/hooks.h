// The program nvidia-cdi-hook: hooks of CDI files by name.
#pragma once

#include <string>
#include <vector>

#include "hook/start.h"

namespace partita::hook {

// The words after the program's name. A hook that is not known here, and none at all, is a warning
// and success: a file of a newer version must not keep containers from starting. That warning is
// told however quiet it shall be.
int RunCdiHook(std::vector<std::string> arguments, Wishes wishes);

}  // namespace partita::hook
