// A file of an image, read in pieces: its libraries have hundreds of megabytes, of which a few
// kilobytes are needed. Never mapped: whoever makes it shorter meanwhile must not end this process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/root_dir.h"
#include "base/unique_fd.h"

namespace partita::hook {

// A whole text of at most this many bytes (kInvalid).
[[nodiscard]] base::Result<std::string> ReadImageText(const base::RootDir& root,
                                                      std::string_view path,
                                                      std::size_t most);

class ImageFile {
 public:
  // Regular files only (kInvalid). What a link finds in /proc or /sys is not there (kNotFound):
  // ldconfig does not see them either, and reading may do something.
  static base::Result<ImageFile> Open(const base::RootDir& root, std::string_view path);

  // Fills all of `to`; false where the file ends before, or cannot be read.
  [[nodiscard]] bool Read(std::uint64_t at, std::span<char> to) const;
  // How many bytes there were; 0 at the end, or where it cannot be read.
  [[nodiscard]] std::size_t ReadSome(std::uint64_t at, std::span<char> to) const;

 private:
  explicit ImageFile(base::UniqueFd file) : file_(std::move(file)) {}
  base::UniqueFd file_;
};

}  // namespace partita::hook
