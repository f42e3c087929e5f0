// What nvidia-ctk tells of itself.
#pragma once

#include <string>
#include <string_view>

#include "cli/ctk/vocabulary.h"

namespace partita::cli {

// What `--help` prints, for all of it or of one group or command. Pure.
[[nodiscard]] std::string CtkUsage();
[[nodiscard]] std::string CtkUsage(std::string_view group);
[[nodiscard]] std::string CtkUsage(const CtkCommand& command);

}  // namespace partita::cli
