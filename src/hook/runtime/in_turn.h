// Hooks of a container that are done by one process.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/value.h"

namespace partita::hook {

// The hooks in their order, neighbours of this program made into one (hook/cdi/hooks.h). Others,
// and those that have a time limit of their own or another environment, stay as they are. One whose
// whole effect a later neighbour has too is left out.
[[nodiscard]] std::vector<base::Value> InTurn(std::span<const base::Value> hooks,
                                              std::string_view program);

}  // namespace partita::hook
