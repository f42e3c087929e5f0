// From nodes to typed values. A reader that cannot read adds one problem and returns nothing, so
// that a file's problems are all found in one pass.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/document.h"
#include "config/problems.h"

namespace partita::config {

struct UnsignedRange {
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
};

// Decimal, or with 0x or 0o in front. A quoted number is a string.
[[nodiscard]] std::optional<std::uint64_t> ReadUnsigned(const Node& node,
                                                        Problems& problems,
                                                        UnsignedRange range = {});
[[nodiscard]] std::optional<std::int64_t> ReadInteger(const Node& node, Problems& problems);
[[nodiscard]] std::optional<double> ReadNumber(const Node& node, Problems& problems);
// true/false, yes/no, on/off in lower, upper or title case, as the YAML readers of Kubernetes take.
[[nodiscard]] std::optional<bool> ReadBool(const Node& node, Problems& problems);
// Any scalar as it is written; "" only when quoted.
[[nodiscard]] std::optional<std::string> ReadString(const Node& node, Problems& problems);
// Bytes, by base::ParseSize.
[[nodiscard]] std::optional<std::uint64_t> ReadSize(const Node& node, Problems& problems);
// One of the words; returns its position among them. Suggests the nearest.
[[nodiscard]] std::optional<std::size_t> ReadChoice(const Node& node,
                                                    Problems& problems,
                                                    std::span<const std::string> words);
[[nodiscard]] std::vector<std::string> ReadStrings(const Node& list, Problems& problems);
[[nodiscard]] std::vector<std::uint64_t> ReadUnsigneds(const Node& list, Problems& problems);

// False, with a problem, when the node is something else. `what` names it: "a GPU", "the node
// file".
[[nodiscard]] bool ExpectMap(const Node& node, Problems& problems, std::string_view what);
[[nodiscard]] bool ExpectList(const Node& node, Problems& problems, std::string_view what);

// The value of a key; a problem at the map when it is absent.
[[nodiscard]] const Node* Require(const Node& map, std::string_view key, Problems& problems);

// A problem for every key that is not in `allowed`, with the nearest one that is.
void RejectUnknownKeys(const Node& map, std::span<const std::string> allowed, Problems& problems);

}  // namespace partita::config
