#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace partita::base {

// How a command shows its answer: --output.
enum class OutputFormat : std::uint8_t { kText, kJson, kYaml };

// "text", "json" or "yaml".
[[nodiscard]] Result<OutputFormat> ParseOutputFormat(std::string_view text);

// The words that ParseOutputFormat takes, for Option::choices.
[[nodiscard]] const std::vector<std::string>& OutputFormatNames();

}  // namespace partita::base
