#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace partita::config {

// As Go writes durations: numbers each with ns, us, µs, ms, s, m or h behind it ("1m30s", "1.5h"),
// or "0". No sign. Nothing when it is something else, or over 292 years.
[[nodiscard]] std::optional<std::chrono::nanoseconds> ParseDuration(std::string_view text);

}  // namespace partita::config
