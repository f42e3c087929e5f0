// An inventory on its way from the agent to a command, with every field of it. Private to programs
// of one version; the form for others is the status document.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/value.h"
#include "model/inventory.h"

namespace partita::model {

inline constexpr std::uint64_t kInventoryWireVersion = 2;

// What is read back equals what was written, also through JSON.
[[nodiscard]] base::Value ToWire(const Inventory& inventory);

// kUnsupported: of another version. kInvalid, with the place: a field that is missing, unknown or
// of another type.
[[nodiscard]] base::Result<Inventory> FromWire(const base::Value& value);

}  // namespace partita::model
