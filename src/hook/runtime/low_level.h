// The OCI runtime that does the work: runc or crun.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace partita::hook {

// The first of the candidates that can be executed. A bare name is looked for in the directories of
// `path` (as of PATH; relative ones count for nothing), then in the usual ones. This executable
// itself, under whatever name, is none.
[[nodiscard]] base::Result<std::string> FindLowLevelRuntime(std::span<const std::string> candidates,
                                                            std::string_view path);

// A program of this name as above, or "".
[[nodiscard]] std::string FindProgram(std::string_view name, std::string_view path);

// Becomes it, with these arguments behind its path and the environment as it is. Returns only when
// that fails.
[[nodiscard]] base::Error ExecLowLevelRuntime(const std::string& program,
                                              std::span<char* const> arguments);

}  // namespace partita::hook
