// JSON from another process, as a value. Exactly RFC 8259, and bounded: what comes in over a socket
// must not cost more than its bytes.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "base/value.h"

namespace partita::base {

inline constexpr int kMostJsonDepth = 64;

// One value with nothing but white space around it. Whole numbers that fit 64 bits stay whole.
// Keys that are there twice, text that is not UTF-8 and more depth than kMostJsonDepth are errors
// too (kInvalid, with the byte where it went wrong).
[[nodiscard]] Result<Value> ParseJson(std::string_view text);

}  // namespace partita::base
