// Exact edits of a text: pieces of it replaced, every other byte kept; and what they changed, as a
// diff that people and patch(1) read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace partita::base {

// `length` bytes at `at` become `with`.
struct Splice {
  std::size_t at = 0, length = 0;
  std::string with{};
};

// The splices may come in any order and must not overlap; those at one place stay in their order.
[[nodiscard]] std::string Apply(std::string_view text, std::vector<Splice> splices);

// Three lines of context; empty where the texts are equal. `name` is the file's, on both sides.
[[nodiscard]] std::string UnifiedDiff(std::string_view before,
                                      std::string_view after,
                                      std::string_view name);

}  // namespace partita::base
