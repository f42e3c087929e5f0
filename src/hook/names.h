// One executable, several names: which program it is.
#pragma once

#include <span>
#include <string_view>

namespace partita::hook {

struct Name {
  std::string_view name;
  int (*run)(std::span<char*> arguments);  // with argv[0]; the exit status
};

// All, for messages and tests.
[[nodiscard]] std::span<const Name> Names();

// The last component of argv[0] decides; an unknown one is told (exit status 2).
int Run(std::span<char*> arguments);

}  // namespace partita::hook
