// The body of a watch: a JSON document a line. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/value.h"

namespace partita::kube {

struct WatchEvent {
  enum class Kind : std::uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };
  Kind kind = Kind::kError;
  base::Value object;
};

// kInvalid: it is none. Kinds that are not known are kInvalid too: passing over one would lose a
// change.
[[nodiscard]] base::Result<WatchEvent> ReadWatchEvent(std::string_view line);

// Bytes into lines.
class WatchLines {
 public:
  static constexpr std::size_t kMostLine = std::size_t{8} << 20;  // etcd's objects have 1.5 MiB

  // `line` returns false when no more are wanted. kInvalid: a line has no end.
  [[nodiscard]] base::Result<void> Add(std::string_view bytes,
                                       const std::function<bool(std::string_view line)>& line);

 private:
  std::string begun_;
};

// metadata.KEY, or "" where it is no text.
[[nodiscard]] std::string MetadataOf(const base::Value& object, std::string_view key);

}  // namespace partita::kube
