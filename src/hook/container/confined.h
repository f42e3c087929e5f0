// The child that becomes ldconfig.
#pragma once

#include <string>
#include <vector>

namespace partita::hook {

inline constexpr int kNotConfined = 125;  // exit status: the kernel refused; why is in the output

// In fresh namespaces, with the container's root as its working directory: makes that its root,
// gives up everything that ldconfig does not need, and executes the program by descriptor. Both
// descriptors are open; `output` gets what it says.
[[noreturn]] void RunConfined(int program, int output, const std::vector<std::string>& arguments);

}  // namespace partita::hook
