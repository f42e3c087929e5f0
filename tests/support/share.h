// How much of a long test runs: PARTITA_TEST_SHARE=10 is a tenth, where the same code runs many
// times slower. The whole of it is in `make test`, and under the sanitizers in `make nightly`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace partita::tests {

[[nodiscard]] inline std::uint64_t Share() {
  const char* text = std::getenv("PARTITA_TEST_SHARE");
  return text == nullptr ? 1 : std::max<std::uint64_t>(1, std::strtoull(text, nullptr, 10));
}

}  // namespace partita::tests
