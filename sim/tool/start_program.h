#pragma once

#include <string>
#include <vector>

namespace partita::sim::tool {

// Replaces this process by the command, found on PATH. Returns only when that fails: errno.
[[nodiscard]] int TryProgram(const std::vector<std::string>& command);

// The same; when it fails, says so and ends with 127 (not found) or 126, as shells and env(1) do.
[[noreturn]] void StartProgram(const std::vector<std::string>& command);

}  // namespace partita::sim::tool
