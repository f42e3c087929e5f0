// Whole texts, kept as files and compared byte by byte.
#pragma once

#include <string>
#include <string_view>

namespace partita::golden {

// Compares with tests/golden/<name>. With the flag --update-golden or PARTITA_UPDATE_GOLDEN=1 it
// writes the file instead; the change is then reviewed as a diff.
void ExpectGolden(const std::string& name, std::string_view text);

}  // namespace partita::golden
