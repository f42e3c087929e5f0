#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace partita::base {

// A variable of this process; absent is not empty.
[[nodiscard]] inline std::optional<std::string> ReadVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace partita::base
