#pragma once

#include <string>
#include <vector>

namespace partita::sim::tool {

// Replaces this process by the command, found on PATH. When that fails: says so and ends with 127
// (not found) or 126, as shells and env(1) do.
[[noreturn]] void StartProgram(const std::vector<std::string>& command);

}  // namespace partita::sim::tool
