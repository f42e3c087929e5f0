// Numbers with units, as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/inventory.h"

namespace partita::cli {

// "18.2": GiB with one decimal, without the unit.
[[nodiscard]] std::string InGibibytes(model::Bytes bytes);
// "512 MiB" below one GiB, "12.0 GiB" from there on.
[[nodiscard]] std::string WithUnit(model::Bytes bytes);
// "18.2/40.0": GiB in use of all; "<0.1" for a little.
[[nodiscard]] std::string UsedOfTotal(const model::Memory& memory);
// "212": watts, rounded.
[[nodiscard]] std::string InWatts(model::Milliwatts power);
// "12 s", "5 min", "3 h", "2 d": the largest unit that leaves two of it or more.
[[nodiscard]] std::string InAge(std::uint64_t seconds);
// "1 process", "3 processes".
[[nodiscard]] std::string Count(std::size_t count, std::string_view one, std::string_view many);

}  // namespace partita::cli
