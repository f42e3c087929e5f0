// What model/wire.h must know of the inventory to carry it, alone or inside something else.
#pragma once

#include <optional>

#include "model/inventory_fields.h"
#include "model/wire.h"

namespace partita::model::wire {

template <>
inline constexpr std::optional<ProcessKind> kLast<ProcessKind> = ProcessKind::kMps;
template <>
inline constexpr std::optional<FaultKind> kLast<FaultKind> = FaultKind::kRemapFailed;

template <>
struct Blank<Problem> {
  static Problem Make() { return {"", Blank<Error>::Make()}; }
};

}  // namespace partita::model::wire
