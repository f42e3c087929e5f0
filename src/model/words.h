// The model's closed choices, twice: in words for a person, and as tokens of the status document.
// Tokens are part of a published schema (docs/status-schema.md): adding one is fine, changing one
// is not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/inventory.h"

namespace partita::model {

[[nodiscard]] std::string_view Word(model::FaultKind kind);
[[nodiscard]] std::string_view Word(model::ComputeMode mode);
[[nodiscard]] std::string_view Word(model::ProcessKind kind);
[[nodiscard]] std::string_view Word(model::Architecture architecture);

// The GPU's address; "address unknown" where nobody could tell.
[[nodiscard]] std::string PciText(const model::Gpu& gpu);

// The short names that `nvidia-smi topo` made familiar, and what they mean.
[[nodiscard]] std::string_view ShortWord(model::PathLevel level);
[[nodiscard]] std::string_view Word(model::PathLevel level);

// A brand or mode number that the driver gave and this table lacks is "unknown-<number>".
[[nodiscard]] std::string BrandToken(std::uint32_t brand);
[[nodiscard]] std::string AddressingToken(std::uint32_t mode);
[[nodiscard]] std::string VirtualizationToken(std::uint32_t mode);

[[nodiscard]] std::string_view Token(model::FaultKind kind);
[[nodiscard]] std::string_view Token(model::ComputeMode mode);
[[nodiscard]] std::string_view Token(model::ProcessKind kind);
[[nodiscard]] std::string_view Token(model::Architecture architecture);
[[nodiscard]] std::string_view Token(model::PathLevel level);

}  // namespace partita::model
