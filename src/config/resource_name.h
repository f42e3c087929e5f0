#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace partita::config {

inline constexpr std::string_view kResourcePrefix = "nvidia.com/";
// Of the whole name: a socket is named by it.
inline constexpr std::size_t kMaxResourceName = 63;

// With "nvidia.com/" in front, which it gets where it lacks it. Behind that is a DNS-1123
// subdomain.
[[nodiscard]] base::Result<std::string> FullResourceName(std::string_view text);

// Lower-case letters, digits and "-" in pieces between dots, each with a letter or digit at both
// ends.
[[nodiscard]] bool IsDnsSubdomain(std::string_view text);

}  // namespace partita::config
