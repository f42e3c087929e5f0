// Amounts as Kubernetes writes them: "1", "500m", "2k", "4Gi", "1e3".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace partita::config {

struct Quantity {
  bool whole = false;
  std::uint64_t count = 0;  // where it is whole
  bool operator==(const Quantity&) const = default;
};

// Nothing: it is none, is negative or is beyond what 64 bits count.
[[nodiscard]] std::optional<Quantity> ParseQuantity(std::string_view text);

}  // namespace partita::config
