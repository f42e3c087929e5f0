#include "cli/draw/table.h"

#include <algorithm>
#include <cstddef>

namespace partita::cli {

Lines DrawTable(const std::vector<std::vector<std::string>>& rows,
                std::string_view alignment,
                int indent,
                const Look& look) {
  std::vector<int> widths(alignment.size(), 0);
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    }
  }
  Lines lines;
  for (const std::vector<std::string>& row : rows) {
    const Ink ink = lines.empty() ? Ink::kFaint : Ink::kPlain;
    Line line;
    int column = indent;
    for (std::size_t c = 0; c < row.size(); ++c) {
      line.PadTo(column);
      if (c + 1 == alignment.size()) {
        Append(Wrapped(line, column, row[c], ink, look), lines);
      } else if (alignment[c] == 'r') {
        line.AddRight(row[c], widths[c], ink);
      } else {
        line.Add(row[c], ink);
      }
      column += widths[c] + 2;
    }
  }
  return lines;
}

}  // namespace partita::cli
