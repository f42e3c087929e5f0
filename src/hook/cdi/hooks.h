// The program nvidia-cdi-hook: hooks of CDI files by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hook/start.h"

namespace partita::hook {

// `in-turn HOOK [ARG...] -- HOOK [ARG...]`: several, in this order, in one process, until one
// fails. Runtimes start every hook as a process of its own, which takes longer than most of what
// these do. For our own runtime, which knows what program it calls; files name single hooks.
inline constexpr std::string_view kInTurn = "in-turn";
inline constexpr std::string_view kThen = "--";

// The words after the program's name. A hook that is not known here, and none at all, is a warning
// and success: a file of a newer version must not keep containers from starting. That warning is
// told however quiet it shall be.
int RunCdiHook(std::vector<std::string> arguments, Wishes wishes);

}  // namespace partita::hook
