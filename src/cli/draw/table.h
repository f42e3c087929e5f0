#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/draw/drawing.h"

namespace partita::cli {

// Rows under each other, two spaces between columns, each as wide as its widest cell; the first row
// is the heading. `alignment` has a letter for each column: 'l' or 'r'. The last column is broken
// at spaces where the line ends.
[[nodiscard]] Lines DrawTable(const std::vector<std::vector<std::string>>& rows,
                              std::string_view alignment,
                              int indent,
                              const Look& look);

}  // namespace partita::cli
