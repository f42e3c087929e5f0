// The table of XIDs as it is in the repository; cmake/embed.cmake writes the definition.
#pragma once

#include <span>
#include <string_view>

namespace partita::service::health {

struct BuiltInFile {
  std::string_view path;  // "data/health/xids.yaml"
  std::string_view text;
};

[[nodiscard]] std::span<const BuiltInFile> BuiltInFiles();

}  // namespace partita::service::health
