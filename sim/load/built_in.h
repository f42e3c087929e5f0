// Files of the repository compiled into the program; cmake/embed.cmake writes the definitions.
#pragma once

#include <span>
#include <string_view>

namespace partita::sim::load {

struct BuiltInFile {
  std::string_view path;  // "data/products/H200.yaml"
  std::string_view text;
};

// Sorted by path.
[[nodiscard]] std::span<const BuiltInFile> BuiltInFiles();

}  // namespace partita::sim::load
