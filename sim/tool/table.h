#pragma once

#include <string>
#include <vector>

namespace partita::sim::tool {

// Rows as left-aligned columns, two spaces apart, without spaces at line ends.
[[nodiscard]] std::string Table(const std::vector<std::vector<std::string>>& rows);

}  // namespace partita::sim::tool
