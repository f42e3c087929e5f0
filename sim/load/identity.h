// Names of things that a node file leaves open: the same for the same seed, node and place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace partita::sim::load {

// 8-4-4-4-12 lower-case hex with the marks of a random (version 4) UUID.
[[nodiscard]] std::string DeriveUuid(std::uint64_t seed,
                                     std::string_view node,
                                     std::string_view what);
// Thirteen digits, as on NVIDIA's boards.
[[nodiscard]] std::string DeriveSerial(std::uint64_t seed,
                                       std::string_view node,
                                       std::string_view what);

// The form that clients parse: "GPU-" and a UUID in lower case.
[[nodiscard]] bool IsGpuUuid(std::string_view text);

}  // namespace partita::sim::load
