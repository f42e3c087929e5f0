// A file of an image, mapped: its libraries have hundreds of megabytes, of which a few are read.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/root_dir.h"

namespace partita::hook {

class MappedFile {
 public:
  // Regular files only (kInvalid), at most `most` bytes (kInvalid). Whoever makes it shorter
  // meanwhile ends this process, and with it the making of the container.
  static base::Result<MappedFile> Open(const base::RootDir& root,
                                       std::string_view path,
                                       std::size_t most);
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::string_view bytes) : bytes_(bytes) {}
  std::string_view bytes_;
};

}  // namespace partita::hook
